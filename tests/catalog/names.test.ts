import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNames, type Origin } from '../../src/catalog/names.ts';
import { mergeNamed } from '../../src/catalog/view.ts';
import { verifies } from '../requirements/verifies.ts';
import { holds } from '../wire/property.ts';
import { digest, listOf } from './listed.ts';

const shortened = ({ backend, name }: Origin, slug: string): string =>
  `${slug}_${digest(JSON.stringify([backend, name])).slice(0, 16)}`;

describe('the name that clients see', verifies('gateway:catalog:names'), () => {
  const backends = ['git', 'git__hub', 'a.b', 'größe', 'x'.repeat(64), 'a_', 'a'];
  const names = createNames(backends, digest);
  const cases: readonly { name: string; input: Origin; expect: (origin: Origin) => string }[] = [
    { name: 'contains the backend', input: { backend: 'git', name: 'log' }, expect: () => 'git__log' },
    {
      name: 'keeps a separator in the name',
      input: { backend: 'git', name: 'a__b' },
      expect: () => 'git__a__b',
    },
    {
      name: 'is plain for the longer of two backends that it could be read as',
      input: { backend: 'git__hub', name: 'log' },
      expect: () => 'git__hub__log',
    },
    {
      name: 'is shortened for the shorter of the two',
      input: { backend: 'git', name: 'hub__log' },
      expect: (origin) => shortened(origin, 'git__hub__log'),
    },
    {
      name: 'is shortened where the separator would be found in another place',
      input: { backend: 'a', name: '_b' },
      expect: (origin) => shortened(origin, 'a___b'),
    },
    {
      name: 'is plain for the backend that ends like the separator',
      input: { backend: 'a_', name: 'b' },
      expect: () => 'a___b',
    },
    {
      name: 'has no characters that clients refuse',
      input: { backend: 'a.b', name: 'x/y z' },
      expect: (origin) => shortened(origin, 'a_b__x_y_z'),
    },
    {
      name: 'has one sign for a character of two units',
      input: { backend: 'größe', name: '😀' },
      expect: (origin) => shortened(origin, 'gr__e___'),
    },
    {
      name: 'fits to the last character',
      input: { backend: 'git', name: 'n'.repeat(59) },
      expect: () => `git__${'n'.repeat(59)}`,
    },
    {
      name: 'is cut where it is one longer',
      input: { backend: 'git', name: 'n'.repeat(60) },
      expect: (origin) => shortened(origin, `git__${'n'.repeat(42)}`),
    },
    {
      name: 'is shortened where it only looks so',
      input: { backend: 'git', name: 'log_0123456789abcdef' },
      expect: (origin) => shortened(origin, 'git__log_0123456789abcdef'),
    },
    { name: 'is there for an empty name', input: { backend: 'git', name: '' }, expect: () => 'git__' },
  ];
  for (const { name, input, expect: expected } of cases) {
    it(name, () => expect(names.encode(input)).toBe(expected(input)));
  }

  it('is read back without a list where it is plain, and only then', () => {
    expect(names.decode('git__hub__log')).toEqual({ backend: 'git__hub', name: 'log', encoded: 'git__hub__log' });
    for (const name of ['log', 'gitlog', 'git_log', 'other__log', 'git__l.g', `git__${'n'.repeat(60)}`, '']) {
      expect(names.decode(name)).toBeUndefined();
    }
    expect(names.decode('git__log_0123456789abcdef')).toBeUndefined();
  });
});

/** Parts of names that were made to be confused. */
const part = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', '_', '__', 'a__', '__b', 'a__b', '-', '.') },
  { weight: 1, arbitrary: fc.constantFrom('é', '世', '😀', '\ud800', ' ', '/', '"', '\\', '\n', '\0') },
  { weight: 1, arbitrary: fc.constantFrom('_0123456789abcdef', 'x'.repeat(47), 'y'.repeat(300)) },
);
const hostile = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(''));
const isWellFormed = (name: string): boolean => name !== '' && !/\p{Surrogate}/u.test(name);
const backendsOf = fc.uniqueArray(hostile.filter(isWellFormed), { minLength: 1, maxLength: 5 });

const origins = fc.record({ backends: backendsOf, names: fc.uniqueArray(hostile, { maxLength: 8 }) });

describe('names of arbitrary items', verifies('gateway:catalog:names'), () => {
  it('are one to one with their origins, and short and plain', () => {
    holds(
      fc.property(origins, ({ backends, names: own }) => {
        const names = createNames(backends, digest);
        const seen = new Map<string, string>();
        for (const backend of backends) {
          for (const name of own) {
            const encoded = names.encode({ backend, name });
            expect(encoded).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
            expect(names.isEncoded(encoded)).toBe(true);
            const decoded = names.decode(encoded);
            if (decoded !== undefined) expect(decoded).toEqual({ backend, name, encoded });
            const origin = JSON.stringify([backend, name]);
            expect(seen.get(encoded) ?? origin).toBe(origin);
            seen.set(encoded, origin);
          }
        }
      }),
    );
  });

  it('are one to one even if a backend uses a name that was generated already', () => {
    holds(
      fc.property(origins, ({ backends, names: own }) => {
        const names = createNames(backends, digest);
        const taken = backends.flatMap((backend) => own.map((name) => names.encode({ backend, name })));
        const all = backends.flatMap((backend) => [...own, ...taken].map((name) => ({ backend, name })));
        const distinct = new Map(all.map((origin) => [JSON.stringify([origin.backend, origin.name]), origin]));
        const encoded = [...distinct.values()].map((origin) => names.encode(origin));
        expect(new Set(encoded).size).toBe(distinct.size);
      }),
    );
  });

  it('depend only on the set of backends', () => {
    holds(
      fc.property(backendsOf, hostile, (backends, name) => {
        const [backend = ''] = backends;
        const there = createNames(backends, digest).encode({ backend, name });
        const back = createNames([...backends].reverse().concat(backends), digest).encode({ backend, name });
        expect(back).toBe(there);
      }),
    );
  });

  for (const naming of ['always', 'collision', 'never'] as const) {
    it(`lead back to the origin of each entry: ${naming}`, () => {
      const lists = fc.record({
        backends: backendsOf,
        names: fc.array(fc.uniqueArray(hostile, { maxLength: 6 }), { minLength: 5, maxLength: 5 }),
      });
      holds(
        fc.property(lists, ({ backends, names: own }) => {
          const names = createNames(backends, digest);
          // What another backend's thing would be called is a name that a backend may choose.
          const poisoned = own.map((list, at) => [
            ...list,
            ...list.map((name) => names.encode({ backend: backends[at + 1] ?? backends[0] ?? '', name })),
          ]);
          const view = mergeNamed(
            backends.map((backend, at) => listOf(backend, [...new Set(poisoned[at])])),
            naming,
            names,
          );
          expect(new Set(view.places.map(({ clientName }) => clientName)).size).toBe(view.places.length);
          for (const { backend, name, clientName, bytes } of view.places) {
            expect(view.find(clientName)).toEqual({ backend, name });
            expect(JSON.parse(Buffer.from(bytes).toString())).toEqual({ name: clientName });
            if (naming === 'collision') expect(view.find(names.encode({ backend, name }))).toEqual({ backend, name });
          }
          const count = poisoned.slice(0, backends.length).reduce((sum, list) => sum + new Set(list).size, 0);
          if (naming !== 'never') expect(view.places).toHaveLength(count);
        }),
        200,
      );
    });
  }
});
