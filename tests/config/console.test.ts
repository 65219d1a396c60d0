/** The console lets nobody in by omission. */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/problems.ts';
import { verifies } from '../requirements/verifies.ts';

function complaints(config: object): string {
  try {
    loadConfig({
      cwd: '/',
      path: 'bascule.yaml',
      env: {},
      readFile: () => JSON.stringify({ backends: {}, ...config }),
    });
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.format();
    throw error;
  }
}

const identity = { keys: { file: '/keys.json' } };

describe('console', () => {
  const refused = [
    { name: 'no `who` with identity', config: { identity, console: {} }, says: 'does not say who may use it' },
    {
      name: 'only `revoke` with identity',
      config: { identity, console: { revoke: { who: { keys: ['a'] } } } },
      says: 'does not say who may use it',
    },
    {
      name: '`who` without identity',
      config: { console: { who: { keys: ['a'] } } },
      says: '`who` has no effect here',
    },
    {
      name: 'a network address without identity',
      config: { listen: { host: '0.0.0.0', openToNetwork: true }, console: {} },
      says: 'would be reached from the network',
    },
    {
      name: 'an own network address without identity',
      config: { console: { listen: { host: '0.0.0.0' } } },
      says: 'would be reached from the network',
    },
    { name: 'an unknown key', config: { console: { whom: {} } }, says: 'unknown key `whom`' },
    {
      name: '`approve` without `who`',
      config: { identity, console: { who: {}, approve: {} } },
      says: '`who` is missing',
    },
  ];
  it.each(refused)('with $name is refused', verifies('gateway:console:config'), ({ config, says }) => {
    expect(complaints(config)).toContain(says);
  });

  const accepted = [
    { name: 'on loopback without identity', config: { console: {} } },
    { name: 'with `who`', config: { identity, console: { who: { keys: ['a'] }, try: { who: { keys: ['a'] } } } } },
    {
      name: 'on loopback of its own beside an open gateway',
      config: { listen: { host: '0.0.0.0', openToNetwork: true }, console: { listen: { host: '127.0.0.1' } } },
    },
  ];
  it.each(accepted)('$name is accepted', verifies('gateway:console:config'), ({ config }) => {
    expect(complaints(config)).toBe('');
  });
});
