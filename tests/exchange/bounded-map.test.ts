import { describe, expect, it } from 'vitest';
import { BoundedMap } from '../../src/exchange/bounded-map.ts';

const keysOf = (map: BoundedMap<number>) => [...map.entries()].map(([key]) => key).sort();

describe('a map of bounded size', () => {
  it('makes room by what was not used', () => {
    const map = new BoundedMap<number>(3);
    for (const key of ['a', 'b', 'c', 'd']) map.set(key, 1);
    // All had been used when they came, so the oldest went.
    expect(keysOf(map)).toEqual(['b', 'c', 'd']);
    map.get('b');
    map.set('e', 1);
    expect(keysOf(map)).toEqual(['b', 'd', 'e']);
  });

  it('keeps what may not go, and more than its size where nothing may', () => {
    const map = new BoundedMap<number>(2, (value) => value !== 0);
    for (const key of ['a', 'b', 'c']) map.set(key, 0);
    expect(map.size).toBe(3);
    map.set('d', 1);
    expect(keysOf(map)).toEqual(['a', 'b', 'c']);
  });

  it('has the latest value of a key, once', () => {
    const map = new BoundedMap<number>(2);
    map.set('a', 1);
    map.set('a', 2);
    expect(map.get('a')).toBe(2);
    expect(map.size).toBe(1);
    map.delete('a');
    expect(map.get('a')).toBeUndefined();
  });

  it('never has more than its size, whatever is used', () => {
    const map = new BoundedMap<number>(8);
    for (let at = 0; at < 1_000; at += 1) {
      map.get(`k${at % 7}`);
      map.set(`k${(at * 13) % 40}`, at);
      expect(map.size).toBeLessThanOrEqual(8);
    }
  });
});
