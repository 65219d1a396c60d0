import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    globalSetup: ['tests/build.ts'],
    // Generous, because it only decides how soon a broken test fails; the machine may be busy.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
