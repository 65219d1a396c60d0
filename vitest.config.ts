import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Start the program, or other people's, as people do. */
const processes = [
  'tests/{demo,package}/**/*.test.ts',
  'tests/interaction/run/**/*.test.ts',
  'tests/**/{program,processes,stdio}.test.ts',
];
/** Replace a module: what they have changed must not be seen by others. */
const mocking = ['tests/interaction/authserver/flood.test.ts', 'tests/decisions/cedar/module.test.ts'];
const interaction = 'tests/interaction/**/*.test.ts';
/** Installed, with tests of their own. */
const foreign = ['**/node_modules/**', '**/.cache/**'];
/**
 * Need programs of other people: `npm run test:redis`, `test:opa`, `test:restart`, `test:reverse-proxies`,
 * `test:sandbox`.
 */
const servers = ['tests/{redis,opa,interop,reverse-proxies,sandbox,delivery}/**'];
const program = ['tests/build.ts'];

export default defineConfig({
  test: {
    // Generous, because it only decides how soon a broken test fails; the machine may be busy.
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Half of the time a test waits, for sockets and processes: two workers leave two cores half idle.
    maxWorkers: Math.max(4, availableParallelism()),
    // To load the same modules anew for each of 400 files took a third of the time. No test leaves anything behind in
    // them.
    isolate: false,
    // Compiled modules are kept from run to run, by the hash of their source: half of the time before the first test.
    experimental: { fsModuleCache: true, fsModuleCachePath: 'node_modules/.cache/vitest-modules' },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['tests/**/*.test.ts'],
          exclude: [...foreign, ...servers, interaction, ...processes, ...mocking],
        },
      },
      {
        extends: true,
        test: {
          name: 'interaction',
          include: [interaction],
          exclude: [...processes, ...mocking],
          globalSetup: program,
        },
      },
      { extends: true, test: { name: 'process', include: processes, globalSetup: program } },
      { extends: true, test: { name: 'mocking', include: mocking, isolate: true } },
    ],
  },
});
