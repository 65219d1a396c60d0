import { describe, expect, it } from 'vitest';
import { type BackendDiscovery, mergeDiscoveries } from '../../src/catalog/discovery.ts';
import type { Discovery } from '../../src/exchange/upstream-session.ts';

const about = { name: 'gateway', version: '1' };
const part = (backend: string, capabilities: Record<string, unknown>, instructions?: string): BackendDiscovery => ({
  backend,
  discovery: { revision: '2025-11-25', capabilities, instructions },
});
const unknown = (backend: string): BackendDiscovery => ({ backend, discovery: undefined });
const capabilitiesOf = (...parts: readonly BackendDiscovery[]) => mergeDiscoveries(parts, about).capabilities;
const instructionsOf = (...texts: readonly string[]) =>
  mergeDiscoveries(
    texts.map((text, at) => part(`b${at}`, {}, text)),
    about,
  ).instructions;

describe('the capabilities and info of a merged endpoint', () => {
  it('is a discovery of the gateway’s own', () => {
    const merged: Discovery = mergeDiscoveries([part('a', {})], about);
    expect(merged).toEqual({
      eras: ['modern'],
      revision: '2026-07-28',
      capabilities: {},
      serverInfo: about,
      instructions: undefined,
      rest: {},
    });
  });

  const told = { listChanged: true };
  const cases: readonly { name: string; input: readonly BackendDiscovery[]; expect: object }[] = [
    { name: 'no capability that no backend has', input: [part('a', {}), part('b', {})], expect: {} },
    {
      name: 'each capability that some backend has, with listChanged',
      input: [part('a', { tools: {} }), part('b', { prompts: { listChanged: false }, completions: {}, logging: {} })],
      expect: { tools: told, prompts: told, completions: {}, logging: {} },
    },
    {
      name: 'subscriptions where some backend has them',
      input: [part('a', { resources: { subscribe: false } }), part('b', { resources: { subscribe: true } })],
      expect: { resources: { subscribe: true, listChanged: true } },
    },
    {
      name: 'no subscriptions when no backend has them',
      input: [part('a', { resources: {} })],
      expect: { resources: told },
    },
    {
      name: 'a capability that a backend may turn out to have',
      input: [unknown('a'), part('b', { logging: {} })],
      expect: { tools: told, prompts: told, resources: told, logging: {} },
    },
    {
      name: 'no capability that was withdrawn',
      input: [part('a', { tools: null, prompts: false, completions: undefined })],
      expect: {},
    },
    { name: 'one that is declared in an odd way', input: [part('a', { tools: true })], expect: { tools: told } },
    {
      name: 'no tasks, and nothing else that the gateway does not carry',
      input: [part('a', { tasks: { list: {} }, other: {} })],
      expect: {},
    },
    {
      name: 'extensions and experiments of all',
      input: [
        part('a', { extensions: { 'x/y': { a: 1 } }, experimental: { e: {} } }),
        part('b', { extensions: { 'z/y': {}, 'not/object': true } }),
      ],
      expect: { experimental: { e: {} }, extensions: { 'x/y': { a: 1 }, 'z/y': {} } },
    },
    {
      name: 'settings of extensions that every backend holds',
      input: [
        part('a', {
          extensions: { 'x/y': { same: { b: 1, a: 1 }, only: true, other: 1, flag: true, list: [1, 2, 3] } },
        }),
        part('b', { extensions: { 'x/y': { same: { a: 1, b: 1 }, other: 2, flag: false, list: [3, 2] } } }),
      ],
      expect: { extensions: { 'x/y': { same: { b: 1, a: 1 }, list: [2, 3] } } },
    },
    {
      name: 'a hostile member unchanged',
      input: [part('a', { experimental: JSON.parse('{"__proto__":{"x":1}}') })],
      expect: { experimental: JSON.parse('{"__proto__":{"x":1}}') },
    },
  ];
  for (const { name, input, expect: expected } of cases) {
    it(`has ${name}`, () => expect(JSON.stringify(capabilitiesOf(...input))).toBe(JSON.stringify(expected)));
  }
});

describe('merged instructions', () => {
  it('stand under the names of their backends', () => {
    expect(instructionsOf(' Use me.\n', '', 'Or me.')).toBe('## b0\n\nUse me.\n\n## b2\n\nOr me.');
  });

  const cut = [
    { name: 'a line', input: `${'word '.repeat(700)}\n${'x'.repeat(1_000)}`, expect: 'word'.padEnd(3_499, ' word') },
    { name: 'a word', input: 'word '.repeat(1_000), expect: 'word'.padEnd(3_999, ' word') },
    { name: 'a character', input: `x${'😀'.repeat(3_000)}`, expect: `x${'😀'.repeat(1_999)}` },
  ];
  for (const { name, input, expect: expected } of cut) {
    it(`are cut after ${name}, and say so`, () => {
      const size = input.trim().length;
      expect(instructionsOf(input)).toBe(
        `## b0\n\n${expected}\n\n[Shortened: ${expected.length} of ${size} characters]`,
      );
    });
  }

  it('are bounded for all backends together, and name the backends that are left out', () => {
    const all = instructionsOf(...Array.from({ length: 7 }, () => 'y'.repeat(3_980)), 'short') ?? '';
    expect(all.length).toBeLessThan(20_500);
    expect(all.match(/## b\d/g)).toEqual(['## b0', '## b1', '## b2', '## b3', '## b4', '## b7']);
    expect(all.endsWith('## b7\n\nshort\n\n[Left out because of their length: the instructions of b5, b6]')).toBe(true);
  });
});
