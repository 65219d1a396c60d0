import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { configOf, Workshop, withBackends } from './generations.ts';

const ledger = (port: number) => ({ protocol: 'json-rpc', url: `http://127.0.0.1:${port}/` });
const at = (url: string) => ({ url: `http://127.0.0.1:9/${url}` });

test('a generation is built from its config', () => {
  const parts = new Workshop();
  const config = configOf({ backends: { a: at('a'), ledger: ledger(9) } });
  const generation = parts.build(config);
  expect([...generation.backends].map(({ name }) => name)).toEqual(['a']);
  expect([...generation.services.keys()]).toEqual(['ledger']);
  expect([...generation.endpoints.values()]).toEqual(config.endpoints);
  expect(generation.config).toBe(config);
  expect(parts.closed).toEqual([]);
});

test('unchanged backends, services and identity are reused, and the others are built', () => {
  const parts = new Workshop();
  const first = parts.build(configOf({ backends: { a: at('a'), b: at('b'), ledger: ledger(9), archive: ledger(10) } }));
  parts.made.length = 0;
  const backends = { a: at('a'), b: at('other'), c: at('c'), ledger: ledger(9), archive: ledger(11) };
  const next = parts.build(configOf({ backends }), first);
  expect(parts.made).toEqual(['b', 'c', 'archive']);
  expect(next.backends.get('a')).toBe(first.backends.get('a'));
  expect(next.backends.get('b')).not.toBe(first.backends.get('b'));
  expect(next.services.get('ledger')).toBe(first.services.get('ledger'));
  expect(next.services.get('archive')).not.toBe(first.services.get('archive'));
  expect(next.identity).toBe(first.identity);
  expect(parts.closed).toEqual([]);
});

test('a changed identity is built anew', () => {
  const parts = new Workshop();
  const first = parts.build(withBackends(['a']));
  const next = parts.build(withBackends(['a'], { identity: { keys: { file: '/nonexistent/keys.json' } } }), first);
  expect(next.identity).not.toBe(first.identity);
  expect(next.backends.get('a')).toBe(first.backends.get('a'));
});

test('a backend is built with the number of its generation', () => {
  const parts = new Workshop();
  const first = parts.build(withBackends(['a']));
  parts.build({ ...withBackends(['a', 'b']), generation: 2 }, first);
  expect(Object.fromEntries(parts.since)).toEqual({ a: 1, b: 2 });
});

test('a failure in the middle closes what was built for the new config, and keeps the old generation unchanged', () => {
  const parts = new Workshop();
  const first = parts.build(withBackends(['a', 'b']));
  const before = { ...first };
  parts.made.length = 0;
  parts.makeService = () => {
    throw new Error('no such thing');
  };
  const backends = { a: at('a'), b: at('other'), c: at('c'), ledger: ledger(9) };
  const identity = { keys: { file: '/nonexistent/keys.json' } };
  expect(() => parts.build(configOf({ backends, identity }), first)).toThrow('no such thing');
  expect(parts.made).toEqual(['identity', 'b', 'c']);
  expect(parts.closed).toEqual(parts.made);
  expect({ ...first }).toEqual(before);
});

test('a generation does not keep the ones before it in memory', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const parts = new Workshop();
  const built = () => {
    const first = parts.build(withBackends(['a']));
    const second = parts.build(withBackends(['a', 'b']), first);
    return { first: new WeakRef(first.authenticator), last: parts.build(withBackends(['a', 'c']), second) };
  };
  const { first, last } = built();
  // A reference that was just made holds until the next task.
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(first.deref()).toBeUndefined();
  expect([...last.backends].map(({ name }) => name)).toEqual(['a', 'c']);
});
