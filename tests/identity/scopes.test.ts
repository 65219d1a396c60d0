import { describe, expect, test } from 'vitest';
import { keyPrincipal, localPrincipal } from '../../src/identity/principal.ts';
import { Hierarchy, ScopeRules } from '../../src/identity/scopes.ts';

const rules = new ScopeRules(
  {
    required: ['mcp'],
    methods: { 'tools/call': ['mcp:write'], 'tools/list': ['mcp:read'] },
    tools: { erase: ['mcp:admin', 'disk'] },
  },
  new Hierarchy({
    'mcp:admin': ['mcp:write'],
    'mcp:write': ['mcp:read', 'mcp'],
    'mcp:read': ['mcp'],
    a: ['b'],
    b: ['a'],
  }),
);
const holding = (...scopes: string[]) => keyPrincipal({ id: 'x', name: 'x', scopes });
const erase = { method: 'tools/call', tool: 'erase' };

describe('scopes', () => {
  const rows = [
    { name: 'an endpoint needs its own', held: [], operation: undefined, missing: ['mcp'] },
    { name: 'a superset is enough', held: ['mcp'], operation: undefined, missing: [] },
    {
      name: 'all missing scopes are reported at once',
      held: [],
      operation: erase,
      missing: ['mcp', 'mcp:write', 'mcp:admin', 'disk'],
    },
    {
      name: 'a broader scope stands for narrower ones, over several steps',
      held: ['mcp:admin'],
      operation: erase,
      missing: ['disk'],
    },
    {
      name: 'a narrower scope does not imply a wider one',
      held: ['mcp:read'],
      operation: { method: 'tools/call' },
      missing: ['mcp:write'],
    },
    { name: 'circles end', held: ['a'], operation: undefined, missing: ['mcp'] },
    {
      name: 'property names of the language mean nothing',
      held: ['mcp'],
      operation: { method: 'constructor', tool: '__proto__' },
      missing: [],
    },
  ];
  test.each(rows)('$name', ({ held, operation, missing }) => {
    const failure = rules.check(holding(...held), operation);
    expect(failure?.data?.missing ?? []).toEqual(missing);
    if (failure !== undefined) {
      expect(failure.reason).toBe('scope_insufficient');
      expect(failure.data?.required).toEqual(rules.needed(operation));
    }
  });

  test('the local principal lacks no scope', () => {
    expect(rules.check(localPrincipal(), erase)).toBeUndefined();
  });
});
