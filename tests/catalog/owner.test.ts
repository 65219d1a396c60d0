import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Owner, ownerOf } from '../../src/catalog/owner.ts';
import { distinguished, readDistinguished } from '../../src/catalog/uris.ts';
import { awkwardText, holds } from '../wire/property.ts';
import { listOf } from './listed.ts';

describe('a URI that names its backend', () => {
  const name = awkwardText.filter((text) => text !== '' && !/\p{Surrogate}/u.test(text));

  it('decodes to the URI that it was made from', () => {
    holds(
      fc.property(fc.uniqueArray(name, { minLength: 1, maxLength: 4 }), awkwardText, (backends, uri) => {
        for (const backend of backends) {
          expect(readDistinguished(distinguished(backend, uri), backends)).toEqual({ backend, uri });
        }
      }),
    );
  });

  it('stays a template if it was one', () => {
    expect(distinguished('a{b}/c', 'file:///{+path}')).toBe('bascule:a%7Bb%7D%2Fc/file:///{+path}');
  });

  it('is rejected if it names no backend of the endpoint', () => {
    for (const uri of ['bascule:c/x', 'bascule:a', 'bascule:', 'file:///x', 'bascule:aa/x', '']) {
      expect(readDistinguished(uri, ['a', 'b'])).toBeUndefined();
    }
  });
});

describe('the owner of a URI', () => {
  const backends = ['a', 'b', 'c'];
  const lists = {
    resources: [
      listOf('a', ['file:///x', 'shared:1', 'db://t/1'], 'resources/list'),
      listOf('b', ['shared:1'], 'resources/list'),
    ],
    templates: [
      listOf('b', ['db://t/{row}', 'file:///{+path}'], 'resources/templates/list'),
      listOf('c', ['db://{table}/7'], 'resources/templates/list'),
    ],
  };
  const cases: readonly { name: string; input: string; expect: Owner }[] = [
    {
      name: 'is named in it',
      input: 'bascule:b/shared:1',
      expect: { backend: 'b', uri: 'shared:1' },
    },
    {
      name: 'is named in it, whether or not the backend lists it',
      input: 'bascule:c/new:1',
      expect: { backend: 'c', uri: 'new:1' },
    },
    { name: 'lists it, rather than has a template', input: 'file:///x', expect: { backend: 'a', uri: 'file:///x' } },
    { name: 'has a template for it', input: 'file:///y/z', expect: { backend: 'b', uri: 'file:///y/z' } },
    { name: 'has the template itself', input: 'db://{table}/7', expect: { backend: 'c', uri: 'db://{table}/7' } },
    { name: 'is not one where two list it', input: 'shared:1', expect: { ambiguous: ['a', 'b'] } },
    { name: 'is not one where two have templates', input: 'db://t/7', expect: { ambiguous: ['b', 'c'] } },
    { name: 'is unknown', input: 'other:1', expect: 'unknown' },
    { name: 'is unknown if the URI names an unknown backend', input: 'bascule:d/x', expect: 'unknown' },
  ];
  for (const { name, input, expect: expected } of cases) {
    it(name, () => expect(ownerOf(input, lists, backends)).toEqual(expected));
  }
});
