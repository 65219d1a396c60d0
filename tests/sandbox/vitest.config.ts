/** Run by tests/sandbox/run.ts: `npm test` needs no bubblewrap. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/sandbox/**/*.test.ts'],
    globalSetup: ['tests/build.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
