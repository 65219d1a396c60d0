import { describe, expect, test } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { complaintsAbout, configOf, load } from './loading.ts';

const service = 'backends:\n  ledger: { protocol: json-rpc, url: http://ledger.example/api }\n';
const both = `${service}  files: { command: npx }\n`;

describe('protocol: json-rpc', () => {
  test('a service and its endpoint get every default', () => {
    const { config, notices } = load(`${service}endpoints: [{ path: /rpc, protocol: json-rpc }]\n`);
    expect(notices).toEqual([]);
    expect(config.backends).toEqual([]);
    expect(config.services).toEqual([{ name: 'ledger', url: 'http://ledger.example/api', headers: {} }]);
    expect(config.endpoints).toEqual([
      {
        protocol: 'json-rpc',
        path: '/rpc',
        backends: ['ledger'],
        profile: { revisions: [], batches: 'allow', accept: 'lenient', elicitation: 'any', toolNames: 'any' },
        denials: 'error',
        sessions: 'required',
        names: 'always',
        identity: { kind: 'open' },
        deviations: [],
      },
    ]);
  });

  test('can set everything that it has', () => {
    const config = configOf(
      `
backends:
  ledger: { protocol: '\${P}', url: http://ledger.example/api, headers: { X-Key: k }, limits: { totalMs: 5s } }
endpoints:
  - { path: /rpc, protocol: json-rpc, backends: [ledger], denials: hide, profile: { batches: deny, bodyBytes: 2KiB, jsonDepth: 9 } }
`,
      undefined,
      { P: 'json-rpc' },
    );
    expect(config.services).toEqual([
      { name: 'ledger', url: 'http://ledger.example/api', headers: { 'X-Key': 'k' }, limits: { totalMs: 5_000 } },
    ]);
    expect(config.endpoints[0]).toMatchObject({
      denials: 'hide',
      profile: { batches: 'deny', bodyBytes: 2048, jsonDepth: 9 },
    });
  });

  test('a service is in no MCP endpoint, and one without any endpoint is reported', () => {
    const { config, notices } = load(both);
    expect(config.endpoints.map(({ path, backends }) => [path, backends])).toEqual([
      ['/mcp', ['files']],
      ['/servers/files/mcp', ['files']],
    ]);
    expect(notices).toEqual(['no endpoint serves `ledger`: add one with `protocol: json-rpc`']);
    const named = configOf(`${both}endpoints: [{ path: /mcp }, { path: /rpc, protocol: json-rpc }]\n`);
    expect(named.endpoints.map(({ backends }) => backends)).toEqual([['files'], ['ledger']]);
  });

  test('rules can name it', () => {
    const text = `${both}endpoints: [{ path: /rpc, protocol: json-rpc }]
policy:
  rules: [{ id: r, effect: allow, what: [rpc], on: { endpoints: [/rpc], backends: [ledger], methods: [get, 'eth_*'] } }]
rates: [{ id: s, per: [method], on: { methods: [get] }, perSecond: 1 }]
`;
    expect(configOf(text).policy?.rules[0]?.on.methods).toEqual(['get', 'eth_*']);
  });

  test('a service is described in the config summary', () => {
    const text = describeConfig(configOf(`${service}endpoints: [{ path: /rpc, protocol: json-rpc }]\n`));
    expect(text).toContain('ledger: http://ledger.example/api (JSON-RPC)');
    expect(text).toContain('JSON-RPC; batches: allow');
    expect(text).not.toContain('revisions');
  });

  test('methods of a service may need scopes that no method of MCP has', () => {
    const scopes = (protocol: string) => `${both}identity: { keys: { file: keys.json } }
endpoints: [{ path: /rpc, ${protocol} identity: { scopes: { methods: { wipe: [admin] } } } }]
`;
    expect(configOf(scopes('protocol: json-rpc,')).endpoints[0]?.identity).toMatchObject({
      scopes: { methods: { wipe: ['admin'] } },
    });
    expect(complaintsAbout(scopes(''))).toContain('there is no method `wipe`');
  });
});

describe('an error in it is reported by name', () => {
  const at = (settings: string) => `${both}endpoints: [{ path: /rpc, protocol: json-rpc, ${settings} }]\n`;
  const cases = [
    {
      name: 'a command',
      text: 'backends: { l: { protocol: json-rpc, command: npx } }',
      says: ['`command` applies only to MCP', 'no `url`'],
    },
    {
      name: 'a transport',
      text: 'backends: { l: { protocol: json-rpc, url: http://l, transport: sse } }',
      says: ['`transport` applies only to MCP'],
    },
    {
      name: 'a profile of a backend',
      text: 'backends: { l: { protocol: json-rpc, url: http://l, profile: { asks: [] } } }',
      says: ['`profile` applies only to MCP'],
    },
    { name: 'another protocol', text: 'backends: { l: { protocol: soap, url: http://l } }', says: ['mcp or json-rpc'] },
    {
      name: 'a header that the gateway sets',
      text: 'backends: { l: { protocol: json-rpc, url: http://l, headers: { Accept: x } } }',
      says: ['`Accept` is set by the gateway itself'],
    },
    { name: 'sessions', text: at('sessions: optional'), says: ['`sessions` applies only to MCP'] },
    { name: 'names', text: at('names: never'), says: ['`names` applies only to MCP'] },
    { name: 'revisions', text: at('profile: { revisions: [2025-11-25] }'), says: ['`revisions` applies only to MCP'] },
    {
      name: 'names of tools',
      text: at('profile: { toolNames: plain, elicitation: flat, accept: strict }'),
      says: ['`toolNames` applies only to MCP', '`elicitation` applies only to MCP', '`accept` applies only to MCP'],
    },
    { name: 'an MCP server behind it', text: at('backends: [files]'), says: ['`files` is an MCP server'] },
    { name: 'two behind it', text: at('backends: [ledger, files]'), says: ['must have exactly one service'] },
    { name: 'an unknown service', text: at('backends: [ledgr]'), says: ['there is no backend `ledgr`'] },
    {
      name: 'no service at all',
      text: 'backends: { files: { command: npx } }\nendpoints: [{ path: /rpc, protocol: json-rpc }]',
      says: ['must have exactly one service'],
    },
    {
      name: 'a service behind MCP',
      text: `${both}endpoints: [{ path: /mcp, backends: [ledger] }]`,
      says: ['`ledger` is not an MCP server'],
    },
    { name: 'more depth than all have', text: at('profile: { jsonDepth: 900 }'), says: ['`jsonDepth` is higher'] },
  ];
  test.each(cases)('$name', ({ text, says }) => {
    const told = complaintsAbout(text);
    for (const one of says) expect(told).toContain(one);
  });

  test('an unknown name is complained of once', () => {
    expect(complaintsAbout(at('backends: [ledgr]'))).not.toContain('is an MCP server');
  });
});
