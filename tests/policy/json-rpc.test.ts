import { describe, expect, test } from 'vitest';
import { checkPolicy, testPolicy } from '../../src/cli/policy-command.ts';
import { configOf } from '../config/loading.ts';

const config = configOf(`
backends:
  ledger: { protocol: json-rpc, url: http://ledger.example/api }
  files: { command: npx }
endpoints: [{ path: /mcp }, { path: /rpc, protocol: json-rpc }]
policy:
  rules:
    - { id: reads, effect: allow, what: [rpc], on: { methods: ['get*', list] } }
    - { id: pays, effect: allow, on: { methods: [pay] }, with: { arguments: { amount: { max: 100 } } } }
    - { id: no-keys, effect: deny, on: { methods: [getKeys] } }
    - { id: all-keys, effect: allow, what: [rpc], on: { methods: [getKeys] } }
    - { id: odd, effect: allow, what: [rpc], on: { tools: [get] } }
`);
const places = Object.fromEntries(config.endpoints.map(({ path, backends }) => [path, backends]));

function said(run: (say: (text: string) => void) => number) {
  const lines: string[] = [];
  return { code: run((text) => void lines.push(text)), lines };
}

describe('bascule policy', () => {
  test('check explains rules about methods, and which can never match', () => {
    const { lines } = said((say) => checkPolicy({ policy: config.policy, places, say }));
    expect(lines).toContain('reads: everybody may rpc, methods get* or list.');
    expect(lines).toContain('pays: everybody may do anything, methods pay, where the argument amount is at most 100.');
    expect(lines).toContain('warning: all-keys can never allow anything: `no-keys` denies everything that it matches');
    expect(lines.filter((line) => line.startsWith('warning: odd can never match'))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('warning:'))).toHaveLength(2);
  });

  test('test knows cases of methods', () => {
    const text = `
cases:
  - { action: rpc, endpoint: /rpc, backend: ledger, method: getBalance, expect: allow, rule: reads }
  - { action: rpc, endpoint: /rpc, backend: ledger, method: getKeys, expect: deny, rule: no-keys }
  - { action: rpc, endpoint: /rpc, backend: ledger, method: pay, arguments: { amount: 5 }, expect: allow, rule: pays }
  - { action: rpc, endpoint: /rpc, backend: ledger, method: pay, arguments: [5], expect: deny, rule: null }
  - { action: rpc, endpoint: /rpc, backend: ledger, method: set, expect: deny, rule: null }
  - { action: call, endpoint: /mcp, backend: files, tool: getBalance, expect: deny, rule: null }
`;
    const { code, lines } = said((say) =>
      testPolicy({ policy: config.policy, places, say }, { name: 'cases.yaml', text }),
    );
    expect({ code, lines }).toEqual({ code: 0, lines: ['6 of 6 cases as expected'] });
  });

  test('and rejects rules that name another kind of item', () => {
    const text = 'cases: [{ action: rpc, endpoint: /rpc, tool: get, expect: deny }]\n';
    const { code, lines } = said((say) =>
      testPolicy({ policy: config.policy, places, say }, { name: 'cases.yaml', text }),
    );
    expect(code).toBe(1);
    expect(lines.join()).toContain('a case of `rpc` must name exactly one item');
  });
});
