/** What a config may say of approvals. */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/problems.ts';
import { verifies } from '../requirements/verifies.ts';

const all = { id: 'all', effect: 'allow' };
const identity = { authServer: { users: 'users.json' } };
const console = { who: { groups: ['ops'] }, approve: { who: { groups: ['ops'] } } };
const ask = { id: 'ask', effect: 'approval', by: 'other' };

function load(more: object) {
  const text = JSON.stringify({ backends: { b: { url: 'http://127.0.0.1:9/mcp' } }, ...more });
  return loadConfig({ cwd: '/', env: {}, path: 'bascule.yaml', readFile: () => text }).config;
}

function complaints(more: object): string {
  try {
    load(more);
    return '';
  } catch (error) {
    if (error instanceof ConfigError) return error.format();
    throw error;
  }
}

describe('a config', verifies('gateway:approval:config'), () => {
  const point = { name: 'pdp', opa: 'http://127.0.0.1:1/', approval: { by: 'other' } };
  const refused = [
    {
      name: 'a rule that does not say who approves',
      rules: [{ ...ask, by: undefined }],
      says: 'does not say who approves',
    },
    {
      name: '`by` of a rule that does not ask',
      rules: [{ ...all, by: 'caller' }],
      says: 'only with `effect: approval`',
    },
    {
      name: '`for` of a rule that does not ask',
      rules: [{ ...all, for: '1min' }],
      says: 'only with `effect: approval`',
    },
    {
      name: 'an action that cannot wait',
      rules: [{ ...ask, what: ['list'] }],
      says: 'no person can be asked about `list`',
    },
    { name: 'a time of more than a day', rules: [{ ...ask, for: '25h' }], says: 'a time from' },
    { name: 'another person, and none who may', more: { console: { who: {} } }, says: 'no person may' },
    { name: 'another person, and no console', more: { console: undefined }, says: 'no person may' },
    {
      name: 'another person, and no sign-in',
      more: { identity: { keys: { file: 'k' } } },
      says: 'no person can sign in',
    },
    {
      name: 'a decision point the same',
      rules: [all],
      decisions: [point],
      more: { console: { who: {} } },
      says: 'no person may',
    },
    {
      name: 'a decision point without `by`',
      decisions: [{ ...point, approval: {} }],
      says: 'does not say who approves',
    },
  ];
  it.each(refused)('with $name is refused', ({ rules = [all, ask], decisions, more, says }) => {
    const policy = { rules, ...(decisions && { decisions }) };
    expect(complaints({ policy, identity, console, ...more })).toContain(says);
  });

  it('can say who is asked, for how long, and about what', () => {
    const rules = [
      all,
      { ...ask, for: '10min', on: { tools: ['x'] } },
      { ...ask, id: 'self', by: 'caller', what: ['call'] },
    ];
    const { policy } = load({ policy: { rules, decisions: [point] }, identity, console });
    expect(policy?.rules.map(({ approval, what }) => ({ approval, what }))).toEqual([
      { approval: undefined, what: undefined },
      { approval: { by: 'other', forMs: 600_000 }, what: ['call', 'get', 'read', 'rpc'] },
      { approval: { by: 'caller' }, what: ['call'] },
    ]);
    expect(policy?.decisions?.[0]?.approval).toEqual({ by: 'other' });
  });

  it('can let people approve with tokens of other issuers', () => {
    const tokens = { ...console, approve: { ...console.approve, tokens: true } };
    const keys = { keys: { file: 'k' } };
    expect(complaints({ policy: { rules: [all, ask] }, identity: keys, console: tokens })).toBe('');
  });
});
