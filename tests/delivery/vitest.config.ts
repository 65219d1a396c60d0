/** Run by tests/delivery/run.ts: `npm test` makes no release. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/delivery/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
