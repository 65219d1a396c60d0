/** `proxy`: where it listens, what it serves, and what is refused about it. */
import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { interceptedNames, proxyHostsOf } from '../../src/proxy/hosts.ts';
import { verifies } from '../requirements/verifies.ts';
import { complaintsAbout, configOf } from './loading.ts';

const backends = `backends:
  search: { url: https://search.example/mcp }
  files: { url: 'http://10.0.0.5:3000/mcp?team=a' }
  rpc: { url: https://search.example/rpc, protocol: json-rpc }
  local: { command: node }
`;

describe('proxy', verifies('gateway:proxy:commands'), () => {
  it('serves the addresses of backends that have one, and nothing else', () => {
    const config = configOf(`${backends}proxy: {}\n`);
    expect(config.proxy).toEqual({ listen: { host: '127.0.0.1', port: 8811 }, tunnels: [] });
    const served = [...proxyHostsOf(config).values()].map(({ authority, isTls, targets }) => ({
      ...{ authority, isTls },
      targets: [...targets].map(([path, { endpoint }]) => [path, endpoint]),
    }));
    expect(served).toEqual([
      { authority: 'search.example:443', isTls: true, targets: [['/mcp', '/servers/search/mcp']] },
      { authority: '10.0.0.5:3000', isTls: false, targets: [['/mcp?team=a', '/servers/files/mcp']] },
    ]);
    expect(interceptedNames(config)).toEqual(['search.example']);
  });

  it('serves the endpoint that has a backend alone, whatever its path', () => {
    const endpoints = `endpoints:
  - { path: /all }
  - { path: /only, backends: [search] }
  - { path: /rpc, backends: [rpc], protocol: json-rpc }
`;
    const config = configOf(`${backends}${endpoints}proxy: {}\n`);
    expect([...(proxyHostsOf(config).get('search.example:443')?.targets ?? [])]).toMatchObject([
      ['/mcp', { endpoint: '/only' }],
      ['/rpc', { endpoint: '/rpc' }],
    ]);
    expect([...proxyHostsOf(config).keys()]).toEqual(['search.example:443']);
  });

  it('config check names tunnels as unseen traffic', () => {
    const text = describeConfig(configOf(`${backends}proxy: { hosts: { 'search.example:443': { tunnel: true } } }\n`));
    expect(text).toContain('search.example:443: tunnel; what passes there is NOT seen');
    expect(text).toContain('10.0.0.5:3000: plain http');
  });

  it.each([
    {
      name: 'a network address without identity',
      proxy: '{ listen: { host: 0.0.0.0 } }',
      why: 'reached from the network',
    },
    { name: 'a host of no backend', proxy: '{ hosts: { "serch.example:443": {} } }', why: 'search.example:443' },
    { name: 'a host without its port', proxy: '{ hosts: { search.example: {} } }', why: 'search.example:443' },
    { name: 'an unknown key', proxy: '{ port: 1 }', why: 'unknown key `port`' },
  ])('is refused: $name', ({ proxy, why }) => {
    expect(complaintsAbout(`${backends}proxy: ${proxy}\n`)).toContain(why);
  });

  it.each([
    {
      name: 'no backend with an address',
      text: 'backends: { a: { command: node } }\nproxy: {}\n',
      why: 'no backend that',
    },
    {
      name: 'two backends with one address',
      text: 'backends: { a: { url: https://x.example/mcp }, b: { url: https://X.example:443/mcp } }\nproxy: {}\n',
      why: 'the backends `a` and `b` have the same address https://x.example/mcp',
    },
    {
      name: 'two ways to authenticate',
      text: 'backends: { a: { url: https://x.example/mcp, credentials: client, headers: { authorization: x } } }\n',
      why: 'both `credentials: client` and `authorization`',
    },
    {
      name: 'credentials of clients and OAuth',
      text: 'backends: { a: { url: https://x.example/mcp, credentials: client, auth: { type: oauth } } }\n',
      why: 'both `credentials: client` and `auth`',
    },
    {
      name: 'credentials of clients at a command',
      text: 'backends: { a: { command: node, credentials: client } }\n',
      why: '`credentials` has no effect here',
    },
  ])('is refused: $name', ({ text, why }) => {
    expect(complaintsAbout(text)).toContain(why);
  });

  it('may be on the network where everything it serves is authenticated', () => {
    const config = configOf(
      `${backends}identity: { keys: { file: keys.json } }\nproxy: { listen: { host: 0.0.0.0 } }\n`,
    );
    expect(config.proxy?.listen.host).toBe('0.0.0.0');
  });
});
