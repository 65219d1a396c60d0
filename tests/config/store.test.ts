/** `store`: the address of Redis is checked, and never shown with its password. */
import { describe, expect, it } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { verifies } from '../requirements/verifies.ts';
import { complaintsAbout, configOf } from './loading.ts';

const KEY = 'k'.repeat(32);
const PASSWORD = 'p4ssw0rd-of-redis';
const withStore = (store: string, seal = `seal: { key: ${KEY} }`) => `backends: {}\n${seal}\nstore: ${store}\n`;

describe('store', verifies('gateway:store:redis-config'), () => {
  const accepted = [
    { name: 'a server', store: '{ url: redis://cache }', expect: { url: 'redis://cache', prefix: 'bascule:' } },
    {
      name: 'a server with TLS, a user and a database',
      store: `{ url: 'rediss://ada:${PASSWORD}@cache:7000/3', prefix: 'mine:' }`,
      expect: { url: `rediss://ada:${PASSWORD}@cache:7000/3`, prefix: 'mine:' },
    },
    {
      name: 'one node of a cluster',
      store: '{ url: redis://a, cluster: true }',
      expect: { url: 'redis://a', cluster: [], prefix: 'bascule:' },
    },
    {
      name: 'several nodes of a cluster',
      store: "{ url: redis://a/0, cluster: [redis://b, 'redis://[::1]:7001'] }",
      expect: { url: 'redis://a/0', cluster: ['redis://b', 'redis://[::1]:7001'], prefix: 'bascule:' },
    },
    { name: 'a directory alone', store: '{ dir: /srv/state }', expect: { dir: '/srv/state' } },
  ];
  for (const { name, store, expect: expected } of accepted) {
    it(`accepts ${name}`, () => {
      expect(configOf(withStore(store)).store).toEqual({ dir: expect.any(String), ...expected });
    });
  }

  const refused = [
    { name: 'another protocol', store: '{ url: http://cache }', says: 'an address such as redis://' },
    { name: 'no host', store: "{ url: 'redis:///0' }", says: 'an address such as redis://' },
    { name: 'a query', store: `{ url: 'redis://cache/0?password=${PASSWORD}' }`, says: 'an address such as redis://' },
    {
      name: 'a password that is not percent-encoded',
      store: `{ url: 'redis://:${PASSWORD}%@cache' }`,
      says: 'percent-encoded',
    },
    {
      name: 'a password at another node',
      store: `{ url: redis://a, cluster: ['redis://:${PASSWORD}@b'] }`,
      says: 'an address without user name and password',
    },
    {
      name: 'a database of a cluster',
      store: `{ url: 'redis://:${PASSWORD}@a/2', cluster: true }`,
      says: 'no database but 0',
    },
    { name: 'a prefix with braces', store: "{ url: redis://a, prefix: '{x}' }", says: 'without spaces and braces' },
    { name: 'a prefix without an address', store: '{ prefix: mine }', says: '`prefix` has no effect here' },
    { name: 'a misspelled key', store: '{ adress: redis://a }', says: 'unknown key `adress`' },
  ];
  for (const { name, store, says } of refused) {
    it(`refuses ${name}, and shows no password`, () => {
      const complaints = complaintsAbout(withStore(store));
      expect(complaints).toContain(says);
      expect(complaints).not.toContain(PASSWORD);
    });
  }

  it('refuses an address without a key that all processes have', () => {
    expect(complaintsAbout(withStore(`{ url: 'redis://:${PASSWORD}@a' }`, ''))).toContain('needs `seal.key`');
  });

  it('is described without its password', () => {
    const text = describeConfig(configOf(withStore(`{ url: 'rediss://ada:${PASSWORD}@a:7000/3' }`)));
    expect(text).toContain('Redis at a:7000 (TLS, with a password, database 3, keys begin with bascule:)');
    expect(text).not.toContain(PASSWORD);
    expect(text).not.toContain('ada');
  });
});
