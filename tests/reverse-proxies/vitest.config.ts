/** Run by tests/reverse-proxies/run.ts: `npm test` needs neither nginx nor Caddy. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/reverse-proxies/**/*.test.ts'],
    globalSetup: ['tests/build.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
