// Usage: node scripts/build.js [folder]
import { bundle } from './bundle.js';
import { writeCodeCache } from './code-cache.js';

const outdir = process.argv[2] ?? 'dist';
await bundle(outdir);
await writeCodeCache(outdir);
