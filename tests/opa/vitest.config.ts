/** Run by tests/opa/run.ts: `npm test` needs no OPA. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['tests/opa/decides.ts'], testTimeout: 60_000, hookTimeout: 60_000 },
});
