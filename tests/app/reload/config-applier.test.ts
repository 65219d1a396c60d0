import { expect, test } from 'vitest';
import { ConfigApplier, type ConfigApplierParts } from '../../../src/app/reload/config-applier.ts';
import type { BackendConfig, Config } from '../../../src/config/config.ts';
import { loadConfig } from '../../../src/config/load.ts';

const configOf = (names: readonly string[]): Config => {
  const backends = Object.fromEntries(names.map((name) => [name, { url: 'http://127.0.0.1:9/mcp' }]));
  const readFile = () => JSON.stringify({ backends });
  return loadConfig({ path: 'bascule.yaml', cwd: '/', env: {}, readFile }).config;
};

/** Whoever calls what is not there fails the test, and says what it called. */
const only = <T>(name: string, members: object = {}): T =>
  new Proxy(members, {
    get: (target, key) => {
      if (key in target) return Reflect.get(target, key);
      throw new Error(`${name}.${String(key)} was touched`);
    },
  }) as T;

test('a config whose last part cannot be made leaves everything as it was', () => {
  const made: string[] = [];
  const parts: ConfigApplierParts = {
    ...{
      gateway: only('gateway'),
      authenticator: only('door'),
      backendInFlight: only('occupied'),
      currentGeneration: only('inForce'),
    },
    ...{ clock: only('clock'), connections: only('connections'), services: new Map() },
    backends: only('backends', { get: () => undefined }),
    // Without `adopt`.
    authorizers: only('leaves', { make: () => only('leave') }),
    makeBackend: ({ name }: BackendConfig) => {
      made.push(name);
      throw new Error('no such thing');
    },
    makeService: () => only('service'),
    makeRoom: () => only('room'),
  };
  const before = configOf(['a']);
  const renewing = new ConfigApplier(before, parts);
  expect(() => renewing.renew(configOf(['a', 'b']))).toThrow('no such thing');
  expect(made).toEqual(['b']);
  expect(renewing.config).toBe(before);
});
