/** What is remembered of questions, and what is not. */
import { describe, expect, it } from 'vitest';
import { key, policyWith, question } from './setup.ts';

const policy = () =>
  policyWith(`
- { id: use, effect: allow, what: [call], on: { tools: ['*'] } }
- { id: not-search, effect: deny, what: [call], on: { tools: ['secret'], backends: [search] } }
- { id: not-team, effect: deny, what: [call], on: { tools: ['secret'], endpoints: [/team/mcp] } }
- { id: small, effect: deny, what: [call], on: { tools: ['size'] }, when: arguments.n > 10 }
`);

const asks = { principal: key('ci'), endpoint: '/mcp', backend: 'files' };
const call = (name: string, more: object = {}) => question('call', { ...asks, thing: { kind: 'tool', name }, ...more });

describe('the same name', () => {
  it('is another question at another backend and at another endpoint', () => {
    const decides = policy();
    expect(decides.decide(call('secret')).ruling?.rules).toEqual(['use']);
    expect(decides.decide(call('secret', { backend: 'search' })).ruling?.rules).toEqual(['not-search']);
    expect(decides.decide(call('secret', { endpoint: '/team/mcp' })).ruling?.rules).toEqual(['not-team']);
    expect(decides.decide(call('secret')).ruling?.rules).toEqual(['use']);
  });

  it('is another question where its backend calls it by a denied name', () => {
    const decides = policy();
    const named = (own: string) => ({ thing: { kind: 'tool' as const, name: 'x', own }, backend: 'search' });
    expect(decides.decide(call('x', named('x'))).ruling?.rules).toEqual(['use']);
    expect(decides.decide(call('x', named('secret'))).ruling?.rules).toEqual(['not-search']);
  });

  it('is decided by its arguments each time', () => {
    const decides = policy();
    for (const n of [1, 11, 2, 12]) {
      const ruling = decides.decide(call('size', { arguments: { n } })).ruling?.rules;
      expect(ruling).toEqual([n > 10 ? 'small' : 'use']);
    }
  });
});

it('decides about thousands of names, and long ones, as about the first', () => {
  const decides = policy();
  for (let at = 0; at < 3_000; at += 1) expect(decides.decide(call(`tool-${at}`)).ruling?.rules).toEqual(['use']);
  expect(decides.decide(call('x'.repeat(10_000))).ruling?.rules).toEqual(['use']);
  expect(decides.decide(call('secret', { backend: 'search' })).ruling?.rules).toEqual(['not-search']);
});
