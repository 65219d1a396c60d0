import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { distinguished, distinguishedUnder, readDistinguished } from '../../src/catalog/uris.ts';
import { holds } from '../wire/property.ts';

describe('the address of a resource that names its backend', () => {
  it.each([
    { uri: 'file:///a', address: 'bascule:one/file:///a' },
    { uri: 'ui://map/index.html', address: 'ui://one/map/index.html' },
    { uri: 'UI://map', address: 'UI://one/map' },
    { uri: 'ui://one/x', address: 'ui://one/one/x' },
    { uri: 'ui:///x', address: 'ui://one/~ui~/x' },
    { uri: 'skill://deploy/SKILL.md', address: 'skill://one/deploy/SKILL.md' },
    { uri: 'skill://~x/SKILL.md', address: 'skill://one/~skill/~x/SKILL.md' },
    { uri: 'ui:opaque', address: 'bascule:one/ui:opaque' },
  ])('of $uri is $address', ({ uri, address }) => {
    expect(distinguished('one', uri)).toBe(address);
    expect(readDistinguished(address, ['two', 'one'])).toEqual({ backend: 'one', uri });
  });

  it.each([
    { uri: 'repo://a/b/SKILL.md', address: 'skill://one/~repo/a/b/SKILL.md' },
    { uri: 'file:///a/b/SKILL.md', address: 'skill://one/~file~/a/b/SKILL.md' },
    { uri: 'skill://b/SKILL.md', address: 'skill://one/b/SKILL.md' },
    { uri: 'urn:x:y', address: 'bascule:one/urn:x:y' },
    { uri: 'no scheme://x', address: 'bascule:one/no scheme://x' },
  ])('of the skill $uri is $address', ({ uri, address }) => {
    expect(distinguishedUnder('skill', 'one', uri)).toBe(address);
    expect(readDistinguished(address, ['one'])).toEqual({ backend: 'one', uri });
  });

  it('leads back to its backend and its URI, whatever these are', () => {
    const scheme = fc.constantFrom('ui://', 'skill://', 'SKILL://', 'file://', 'x:', '');
    const rest = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('~', '/', 'a', '%', ':', '?', '{') }));
    const uris = fc.tuple(scheme, rest).map((parts) => parts.join(''));
    const backends = fc.uniqueArray(fc.string({ minLength: 1, unit: fc.constantFrom('a', 'b', '.', '-', '_', '~') }), {
      minLength: 1,
    });
    holds(
      fc.property(uris, backends, fc.nat(), (uri, names, at) => {
        const backend = names[at % names.length] as string;
        for (const address of [distinguished(backend, uri), distinguishedUnder('skill', backend, uri)])
          expect(readDistinguished(address, names)).toEqual({ backend, uri });
      }),
    );
  });

  it('of a backend that is not behind the endpoint is none', () => {
    expect(readDistinguished('ui://three/x', ['one'])).toBeUndefined();
    expect(readDistinguished('ui://one', ['one'])).toBeUndefined();
  });
});
