import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createNames, type NamePolicy } from '../../src/catalog/names.ts';
import { mergeNamed, mergeResources } from '../../src/catalog/view.ts';
import type { ThingKind } from '../../src/policy/actions.ts';
import { Policy } from '../../src/policy/policy.ts';
import { Denial } from '../../src/policy/ruling.ts';
import { digest, listOf } from '../catalog/listed.ts';
import { holds } from '../wire/property.ts';
import { local, question, settingsOf } from './setup.ts';

/** The victim is `a`; the others list what they like. */
const backends = ['a', 'b', 'a__b'];
const { encode } = createNames(backends, digest);
const world = { endpoints: ['/mcp', '/alone'], backends, encode };

const name = fc.oneof(
  fc.constantFrom('drop', 'b__drop', 'a__drop', 'drop table', `drop_${'x'.repeat(70)}_all`, 'größe', '_drop', '__'),
  fc.string({ minLength: 1, maxLength: 90 }),
);
const address = fc.oneof(
  fc.constantFrom('file:///secrets/x', 'secret://vault/Key', 'note:drop', 'bascule:b/x', 'BASCULE:a/x', 'a'),
  fc.webUrl(),
);
const against = (own: string) =>
  fc.constantFrom(
    ...[own, `a__${own}`, encode({ backend: 'a', name: own }), `b__${own}`, `bascule:a/${own}`, `bascule:b/${own}`],
  );

/** Special characters of patterns are meant as they are. */
const literally = (text: string) => text.replaceAll(/[*?\\]/g, '\\$&');

const attack = fc.tuple(fc.constantFrom('tool', 'prompt', 'resource'), name, address).chain(([kind, called, uri]) => {
  const own = kind === 'resource' ? uri : called;
  const marked = kind === 'resource' ? [`bascule:a/${own}`] : [`a__${own}`, encode({ backend: 'a', name: own })];
  return fc.record({
    kind: fc.constant(kind as ThingKind & ('tool' | 'prompt' | 'resource')),
    own: fc.constant(own),
    written: fc.constantFrom(own, ...marked),
    naming: fc.constantFrom<NamePolicy>('always', 'collision', 'never'),
    others: fc.tuple(fc.uniqueArray(against(own), { maxLength: 4 }), fc.uniqueArray(against(own), { maxLength: 4 })),
  });
});

const lists = { tool: 'tools', prompt: 'prompts', resource: 'uris' } as const;
const actionOf = { tool: 'call', prompt: 'get', resource: 'read' } as const;

test('a denying rule holds for an item under each of its names, and hides it, whatever other backends list', () => {
  holds(
    fc.property(attack, ({ kind, own, written, naming, others }) => {
      fc.pre(literally(written).length <= 256);
      const on = { [lists[kind]]: [literally(written)] };
      const rules = [
        { id: 'all', effect: 'allow' },
        { id: 'no', effect: 'deny', on },
      ];
      const policy = new Policy(settingsOf(JSON.stringify({ policy: { rules } }), world), world, 1);
      const method = kind === 'resource' ? 'resources/list' : 'tools/list';
      const parts = [[own], ...others].map((keys, at) => listOf(backends[at] ?? '', keys, method));
      const names = createNames(backends, digest);
      const view = kind === 'resource' ? mergeResources(parts) : mergeNamed(parts, naming, names);
      const listed = view.nameOf({ backend: 'a', name: own });
      const merged = { kind, name: listed ?? names.encode({ backend: 'a', name: own }), also: listed ?? own, own };
      for (const { endpoint, thing } of [
        { endpoint: '/mcp', thing: merged },
        { endpoint: '/alone', thing: { kind, name: own } },
      ]) {
        const place = { endpoint, backend: 'a', thing };
        expect(policy.decide(question(actionOf[kind], place))).toBeInstanceOf(Denial);
        expect(policy.shows({ principal: local, ...place })).toBe(false);
      }
    }),
    1_000,
  );
});
