#!/usr/bin/env node
// Stack traces in the log name the source files, not the bundle.
process.setSourceMapsEnabled(true);
await import('../dist/main.js');
