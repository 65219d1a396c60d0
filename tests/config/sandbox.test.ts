/** `sandbox` of stdio backends: its defaults, and what is refused about it. */
import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { verifies } from '../requirements/verifies.ts';
import { complaintsAbout, configOf, errorOf, load } from './loading.ts';

const backend = (settings: object, more: object = {}) =>
  JSON.stringify({ backends: { b: { command: 'node', ...settings } }, store: { dir: '/var/lib/bascule' }, ...more });

const sandboxOf = (sandbox: object) => {
  const [only] = configOf(backend({ sandbox })).backends;
  return only?.kind === 'stdio' ? only.sandbox : undefined;
};

describe('sandbox', verifies('gateway:sandbox:config'), () => {
  it('has limits and shows nothing where the config says nothing', () => {
    expect(sandboxOf({})).toEqual({
      network: false,
      read: [],
      write: [],
      memoryBytes: 512 * 1024 ** 2,
      processes: 128,
    });
  });

  it('has no limit only where the config says so', () => {
    expect(sandboxOf({ memory: 'none', processes: 'none' })).toEqual({ network: false, read: [], write: [] });
    expect(sandboxOf({ memory: '64MiB', processes: 32 })).toMatchObject({ memoryBytes: 64 * 1024 ** 2, processes: 32 });
  });

  it('is described by `config check`', () => {
    const config = configOf(backend({ sandbox: { read: ['/srv/data'], network: true } }));
    expect(describeConfig(config)).toContain(
      'sandbox: with network; reads /srv/data; 512 MiB of memory; 128 processes and threads',
    );
  });

  it.each([
    [backend({ sandbox: true }), 'a map with `network`, `read`, `write`, `memory` or `processes`'],
    [backend({ sandbox: { memory: '1KiB' } }), 'a limit, or `none`'],
    [backend({ sandbox: { net: true } }), 'unknown key `net`'],
    [backend({ sandbox: { read: ['/var/lib'] } }), 'the backend would see the state directory of the gateway'],
    [backend({ sandbox: { write: ['/var/lib/bascule/x'] } }), 'the backend would see the state directory'],
    [
      backend({ sandbox: { read: ['/etc/bascule'] } }, { identity: { keys: { file: '/etc/bascule/keys.json' } } }),
      'the backend would see the access keys of the gateway',
    ],
    [backend({ sandbox: { read: ['/'] } }), 'the backend would see the state directory of the gateway: / has'],
    [
      backend({ sandbox: { write: ['/srv'], read: ['/srv/a'] } }),
      '/srv/a is within /srv, which the backend b may change',
    ],
    [
      JSON.stringify({
        backends: {
          a: { command: 'node', sandbox: { write: ['/srv'] } },
          b: { command: 'node', sandbox: { read: ['/srv/b'] } },
        },
      }),
      '/srv/b is within /srv, which the backend a may change',
    ],
    [backend({ sandbox: {} }, { store: { dir: '/usr/src/app' } }), 'see the state directory of the gateway: every'],
    [backend({ sandbox: { read: ['/proc/1'] } }), 'the backend would see the processes of the gateway'],
    [
      backend({ sandbox: { write: ['/etc/bascule'] } }, { pins: { file: '/etc/bascule/pins.json' } }),
      'the backend would see the pins of the gateway',
    ],
    [
      backend({ sandbox: { write: ['/var/log/a'] } }, { audit: { to: '/var/log/a/audit.log' } }),
      'the backend would see the audit trail of the gateway',
    ],
    [
      backend({ sandbox: { read: ['/run/gateway'] } }, { listen: { socket: '/run/gateway/gateway.sock' } }),
      'the backend would see the socket of the gateway',
    ],
    [backend({ sandbox: { read: ['/srv'] }, cwd: '/home' }), '`cwd` is not there in the sandbox'],
    [JSON.stringify({ backends: { b: { url: 'http://x/mcp', sandbox: {} } } }), '`sandbox` has no effect here'],
  ])('%s is refused', (text, why) => {
    expect(complaintsAbout(text)).toContain(why);
  });

  it.each([
    [{ read: ['/srv/link'] }, 'the backend would see the state directory of the gateway: /srv/link has'],
    [{ write: ['/srv/data'], read: ['/opt/link'] }, '/opt/link is within /srv/data, which the backend b may change'],
  ])('%j is refused for where its links lead', (sandbox, why) => {
    const realPath = (path: string) =>
      path.replace('/srv/link', '/var/lib/bascule').replace('/opt/link', '/srv/data/inner');
    expect(errorOf(() => load(backend({ sandbox }), undefined, {}, { realPath })).format()).toContain(why);
  });
});
