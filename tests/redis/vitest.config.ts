/** Run by tests/redis/run.ts: `npm test` needs no Redis. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/redis/**/*.test.ts'],
    globalSetup: ['tests/build.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    isolate: false,
  },
});
