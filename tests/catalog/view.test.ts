import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNames, type NamePolicy } from '../../src/catalog/names.ts';
import { type BackendList, mergeNamed, mergeResources, mergeTemplates } from '../../src/catalog/view.ts';
import { verifies } from '../requirements/verifies.ts';
import { awkwardJson, awkwardText, holds, spell, spelling } from '../wire/property.ts';
import { digest, listOf, pageOf, text } from './listed.ts';

const names = createNames(['a', 'b', 'c'], digest);
const merged = (lists: readonly BackendList[], naming: NamePolicy) => mergeNamed(lists, naming, names);
const listed = ({ places }: ReturnType<typeof merged>) => places.map(({ clientName }) => clientName);

describe('merged tools and prompts', verifies('gateway:catalog:merge'), () => {
  const lists = [listOf('a', ['x', 'y', 'b__x']), listOf('b', ['x', 'z']), listOf('c', [])];
  const mistakable = names.encode({ backend: 'a', name: 'b__x' });
  const cases: readonly { name: string; input: NamePolicy; expect: readonly string[] }[] = [
    { name: 'always contain their backend', input: 'always', expect: ['a__x', 'a__y', mistakable, 'b__x', 'b__z'] },
    {
      name: 'contain the backend only on a collision',
      input: 'collision',
      expect: ['a__x', 'y', mistakable, 'b__x', 'z'],
    },
    { name: 'are left out where they may not', input: 'never', expect: ['y', 'b__x', 'z'] },
  ];
  for (const { name, input, expect: expected } of cases) {
    it(name, () => expect(listed(merged(lists, input))).toEqual(expected));
  }

  it('are found under the names that are listed, and under no other', () => {
    const always = merged(lists, 'always');
    expect(always.find('b__x')).toEqual({ backend: 'b', name: 'x' });
    for (const name of ['x', 'y', 'a__z', '']) expect(always.find(name)).toBeUndefined();
  });

  it('are found under the longer name too, which may have been needed before', () => {
    const view = merged(lists, 'collision');
    expect(view.find('a__y')).toEqual({ backend: 'a', name: 'y' });
    expect(view.find('x')).toBeUndefined();
  });

  it('are reported where they are left out', () => {
    const never = merged(lists, 'never');
    expect(never.collisions).toEqual([{ name: 'x', backends: ['a', 'b'] }]);
    expect(never.find('x')).toBeUndefined();
    expect(merged(lists, 'collision').collisions).toEqual([]);
  });

  for (const naming of ['always', 'collision', 'never'] as const) {
    it(`have one entry where a backend lists a name twice: ${naming}`, () => {
      const page = pageOf('tools/list', ['{"name":"x","n":1}', '{"name":"y"}', '{"name":"x","n":2}']);
      const view = merged([{ backend: 'a', entries: page.entries }], naming);
      expect(view.places.map(({ bytes }) => JSON.parse(text(bytes)).n)).toEqual([1, undefined]);
      expect(view.collisions).toEqual([{ name: 'x', backends: ['a'] }]);
    });
  }

  it('keep their names while another backend is unavailable', () => {
    const view = merged([listOf('a', ['x', 'w'], 'tools/list', true), listOf('b', ['x'])], 'collision');
    expect(listed(view)).toEqual(['b__x']);
    expect(view.find('x')).toBeUndefined();
    expect(view.find('a__x')).toEqual({ backend: 'a', name: 'x' });
    expect(view.find('w')).toEqual({ backend: 'a', name: 'w' });
  });

  it('never give two items one name, even on a digest collision', () => {
    const weak = createNames(['a'], () => '0'.repeat(64));
    const view = mergeNamed([listOf('a', ['é', 'è'])], 'always', weak);
    expect(view.places.map(({ name }) => name)).toEqual(['é']);
    expect(view.collisions).toEqual([{ name: 'è', backends: ['a'] }]);
  });

  it('differ from the entries of the backend only in the name', () => {
    const entry = fc.record({ name: awkwardText, extra: awkwardJson, how: spelling });
    holds(
      fc.property(entry, ({ name, extra, how }) => {
        const said = spell({ _meta: extra, name, icons: extra }, how);
        const { entries } = pageOf('tools/list', [said]);
        const [place] = merged([{ backend: 'a', entries }], 'always').places;
        const span = entries[0]?.span;
        if (place === undefined || span === undefined) throw new Error('no place');
        const bytes = Buffer.from(said);
        expect(text(place.bytes)).toBe(
          bytes.toString('utf8', 0, span.start) + JSON.stringify(place.clientName) + bytes.toString('utf8', span.end),
        );
        // What keeps its name is not touched at all.
        const [own] = merged([{ backend: 'a', entries }], 'never').places;
        expect(own?.bytes).toBe(entries[0]?.bytes);
      }),
      200,
    );
  });

  it('are all there, in the order of the backends and of their lists', () => {
    const many = Array.from({ length: 20 }, (_, at) => `backend-${at}`);
    const tools = Array.from({ length: 200 }, (_, at) => `tool-${at}`);
    const view = mergeNamed(
      many.map((backend) => listOf(backend, tools)),
      'always',
      createNames(many, digest),
    );
    expect(view.places.map(({ clientName }) => clientName)).toEqual(
      many.flatMap((backend) => tools.map((tool) => `${backend}__${tool}`)),
    );
  });
});

describe('merged resources', verifies('gateway:catalog:merge'), () => {
  const resources = (backend: string, uris: readonly string[]) => listOf(backend, uris, 'resources/list');

  it('keep their URIs where only one backend has them', () => {
    const view = mergeResources([resources('a', ['file:///x', 'shared:1']), resources('b', ['shared:1', 'file:///y'])]);
    expect(listed(view)).toEqual(['file:///x', 'bascule:a/shared:1', 'bascule:b/shared:1', 'file:///y']);
    expect(view.find('bascule:b/shared:1')).toEqual({ backend: 'b', name: 'shared:1' });
    expect(view.find('file:///x')).toEqual({ backend: 'a', name: 'file:///x' });
    expect(view.find('bascule:a/file:///x')).toEqual({ backend: 'a', name: 'file:///x' });
    expect(view.find('shared:1')).toBeUndefined();
  });

  it('are never attributed to another backend, whatever their names', () => {
    const view = mergeResources([resources('a', ['bascule:b/file:///x']), resources('b', ['file:///x'])]);
    expect(listed(view)).toEqual(['bascule:a/bascule:b/file:///x', 'file:///x']);
    expect(view.find('bascule:b/file:///x')).toEqual({ backend: 'b', name: 'file:///x' });
  });

  it('of arbitrary names are all reachable', () => {
    const uri = fc.oneof(awkwardText, fc.constantFrom('bascule:a/x', 'bascule:b/x', 'x', 'BASCULE:a/x', 'bascule:'));
    const uris = fc.uniqueArray(uri, { maxLength: 6 });
    holds(
      fc.property(uris, uris, (first, second) => {
        const view = mergeResources([resources('a', first), resources('b', second)]);
        expect(view.places).toHaveLength(first.length + second.length);
        for (const { backend, name, clientName } of view.places) {
          expect(view.find(clientName)).toEqual({ backend, name });
        }
      }),
    );
  });
});

describe('merged templates', verifies('gateway:catalog:merge'), () => {
  const templates = (backend: string, all: readonly string[]) => listOf(backend, all, 'resources/templates/list');

  it('are distinguished where two are equal, or one URI fits both', () => {
    const view = mergeTemplates([
      templates('a', ['db://{table}', 'log://{day}', 'file:///{+path}', 'own://{x}/{y}']),
      templates('b', ['log://{day}', 'file:///home/{name}', 'own://{x}', 'own://{x}/{y}/z']),
    ]);
    expect(listed(view)).toEqual([
      'db://{table}',
      'bascule:a/log://{day}',
      'bascule:a/file:///{+path}',
      'own://{x}/{y}',
      'bascule:b/log://{day}',
      'bascule:b/file:///home/{name}',
      'own://{x}',
      'own://{x}/{y}/z',
    ]);
  });

  it('may overlap within one backend, which resolves them itself', () => {
    expect(listed(mergeTemplates([templates('a', ['x:{+all}', 'x:{one}'])]))).toEqual(['x:{+all}', 'x:{one}']);
  });

  it('are merged in bounded time, however many match everything', () => {
    const all = (backend: string) =>
      templates(
        backend,
        Array.from({ length: 300 }, (_, at) => `{+x}${'a{+y}'.repeat(20)}${at}`),
      );
    const view = mergeTemplates([all('a'), all('b')]);
    expect(listed(view).every((uri) => uri.startsWith('bascule:'))).toBe(true);
  });
});
