/** Run by tests/interop/restart/run.ts: `npm test` needs neither Python nor Go. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/interop/restart/*.test.ts'],
    testTimeout: 120_000,
    hookTimeout: 30_000,
    // The time that the gateway is away counts.
    maxWorkers: 1,
    isolate: false,
    globalSetup: ['tests/build.ts'],
  },
});
