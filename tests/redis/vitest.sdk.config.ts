/** The suites of the official SDKs, with three replicas behind a balancer in place of one gateway. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'tests/interaction/sdk/v*.test.ts',
      'tests/interaction/features/{mcpserver,tools,resources,completion,logging,sdk-client,prompts,tool-traffic}.test.ts',
      'tests/interaction/server-requests/sdk.test.ts',
      'tests/interaction/protocol/{meta,abort}.test.ts',
    ],
    provide: { replicas: 3 },
    globalSetup: ['tests/build.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    isolate: false,
  },
});
