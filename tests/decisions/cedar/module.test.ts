/** How Cedar is loaded. */
import { expect, it, vi } from 'vitest';
import { loadCedar } from '../../../src/decisions/cedar/module.ts';
import { verifies } from '../../requirements/verifies.ts';

const flags = vi.hoisted((): string[] => []);
vi.mock('node:v8', async (original) => ({
  ...(await original<typeof import('node:v8')>()),
  setFlagsFromString: (flag: string) => void flags.push(flag),
}));

it(
  'V8 inlines no calls of its WebAssembly, which has ended processes of Node 20',
  verifies('gateway:policy:cedar'),
  () => {
    expect(loadCedar()).toBe(loadCedar());
    expect(flags).toEqual(['--no-turbo-inline-js-wasm-calls']);
  },
);
