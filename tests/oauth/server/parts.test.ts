import { describe, expect, test } from 'vitest';
import { Attempts } from '../../../src/exchange/attempts.ts';
import { clientCollection, RecordsAdapter } from '../../../src/oauth/server/adapter.ts';
import { keepClient } from '../../../src/oauth/server/admission.ts';
import { cookiesFor } from '../../../src/oauth/server/cookies.ts';
import { Holdings } from '../../../src/oauth/server/holdings.ts';
import { loadKeys } from '../../../src/oauth/server/keys.ts';
import { authServerLimits } from '../../../src/oauth/server/limits.ts';
import { routeOf } from '../../../src/oauth/server/paths.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { verifies } from '../../requirements/verifies.ts';

const DAY = 86_400_000;

describe('attempts', verifies('gateway:authserver:bounded'), () => {
  test('are counted for a time, and the time is reported', () => {
    let now = 0;
    const attempts = new Attempts({ most: 2, withinMs: 100, names: 10 }, () => now);
    attempts.count('a');
    expect(attempts.waitFor('a')).toBe(0);
    attempts.count('a');
    now = 40;
    expect(attempts.waitFor('a')).toBe(60);
    expect(attempts.waitFor('b')).toBe(0);
    now = 100;
    expect(attempts.waitFor('a')).toBe(0);
  });

  test('of many names are forgotten, the oldest first; a clock that is set back locks no one out', () => {
    let now = 1_000;
    const attempts = new Attempts({ most: 1, withinMs: 100, names: 3 }, () => now);
    for (const name of ['a', 'b', 'c', 'a', 'd']) attempts.count(name);
    expect(attempts.size).toBe(3);
    expect(['a', 'b', 'c', 'd'].filter((name) => attempts.waitFor(name) > 0)).toEqual(['a', 'c', 'd']);
    now = 0;
    expect(attempts.waitFor('a')).toBe(0);
  });
});

describe('signing keys', verifies('gateway:authserver:durable'), () => {
  test('are the same for two that start at once, and have no secret in public', async () => {
    const records = new MemoryRecords(() => 0);
    const [one, other] = await Promise.all([loadKeys(records, 0, 1000), loadKeys(records, 0, 1000)]);
    expect(one).toEqual(other);
    expect(one.published.keys).toHaveLength(1);
    expect(one.published.keys[0]).not.toHaveProperty('d');
  });

  test('are renewed, and the old one verifies for as long as a token of it can live', async () => {
    const records = new MemoryRecords(() => 0);
    const first = await loadKeys(records, 0, DAY);
    const young = await loadKeys(records, 89 * DAY, DAY);
    expect(young).toEqual(first);
    const second = await loadKeys(records, 91 * DAY, DAY);
    expect(second.signing.keys.map(({ kid }) => kid).slice(1)).toEqual(first.signing.keys.map(({ kid }) => kid));
    expect(second.cookie).toBe(first.cookie);
    const third = await loadKeys(records, 182 * DAY, DAY);
    expect(third.published.keys).toHaveLength(2);
  });
});

describe('the records of the library', verifies('gateway:authserver:durable', 'gateway:authserver:secrets'), () => {
  const adapterOf = (records: MemoryRecords, model: string, now = () => 0) =>
    new RecordsAdapter(model, {
      records,
      time: { now },
      clientEndsAt: () => now() + authServerLimits.unusedClientMs,
      alreadyUsed: () => new Error('used'),
      holdings: new Map(),
      holderOf: () => undefined,
    });

  test('is found by its text, which is no key of the store', async () => {
    const records = new MemoryRecords(() => 0);
    const adapter = adapterOf(records, 'RefreshToken');
    await adapter.upsert('the-token', { grantId: 'g', x: 1 }, 60);
    expect(await adapter.find('the-token')).toEqual({ grantId: 'g', x: 1 });
    expect((await records.keys('oauth:RefreshToken', '', 10)).join()).not.toContain('the-token');
  });

  test('is used by one of many at once', async () => {
    const adapter = adapterOf(new MemoryRecords(() => 0), 'AuthorizationCode');
    await adapter.upsert('code', { grantId: 'g' }, 60);
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => adapter.consume('code')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(adapter.consume('no such code')).rejects.toThrow('used');
  });

  test('is deleted with its grant, and when it expires', async () => {
    let now = 0;
    const records = new MemoryRecords(() => now);
    const adapter = adapterOf(records, 'RefreshToken', () => now);
    await adapter.upsert('a', { grantId: 'g' }, 60);
    await adapter.upsert('b', { grantId: 'g' }, 60);
    await adapter.upsert('c', { grantId: 'h' }, 60);
    await adapter.revokeByGrantId('g');
    expect([await adapter.find('a'), await adapter.find('b')]).toEqual([undefined, undefined]);
    expect(await adapter.find('c')).toBeDefined();
    now = 61_000;
    expect(await adapter.find('c')).toBeUndefined();
  });

  test(
    'of clients expire after a day unless a token was issued to them',
    verifies('gateway:authserver:bounded'),
    async () => {
      let now = 0;
      const records = new MemoryRecords(() => now);
      const adapter = adapterOf(records, 'Client', () => now);
      await adapter.upsert('used', { client_id: 'used' });
      await adapter.upsert('unused', { client_id: 'unused' });
      const holdings = new Holdings(records, clientCollection);
      await keepClient('used', now + 30 * DAY, records, holdings);
      now = 2 * DAY;
      expect(await adapter.find('unused')).toBeUndefined();
      expect(await adapter.find('used')).toEqual({ client_id: 'used' });
      now = 121 * DAY;
      expect(await adapter.find('used')).toBeUndefined();
    },
  );
});

describe('cookies', verifies('gateway:authserver:pages'), () => {
  test('are bound to the host with https, and to the port by name without', () => {
    expect(cookiesFor('https://mcp.example', 'k')).toMatchObject({
      names: { session: '__Host-bascule_session', interaction: '__Secure-bascule_interaction' },
      long: { secure: true, path: '/', httpOnly: true, sameSite: 'lax' },
    });
    expect(cookiesFor('http://127.0.0.1:8808', 'k')).toMatchObject({
      names: { session: 'bascule_8808_session' },
      long: { secure: false },
    });
  });
});

describe('paths', verifies('gateway:authserver:off'), () => {
  test('are exactly the served ones', () => {
    for (const path of ['/oauth/authorize', '/oauth/authorize/abc', '/oauth/interaction/a-b_c', '/oauth/sign-out']) {
      expect(routeOf(path), path).toBeDefined();
    }
    for (const path of [
      '/oauth/callback',
      '/oauth',
      '/oauth/',
      '/mcp',
      '/oauth/interaction/',
      '/oauth/interaction/a/b',
    ]) {
      expect(routeOf(path), path).toBeUndefined();
    }
    expect(routeOf('__proto__')).toBeUndefined();
  });
});
