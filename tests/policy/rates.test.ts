import { describe, expect, test } from 'vitest';
import { type Admission, RateExceeded, type RateSettings, Rates } from '../../src/policy/rates.ts';
import { call, key, read, world } from './setup.ts';

/** One process alone never waits. */
function atOnce(admitted: ReturnType<Rates['admit']>): Admission | RateExceeded {
  if (admitted instanceof Promise) throw new Error('it waits');
  return admitted;
}

function setup(...rates: readonly Partial<RateSettings>[]) {
  let now = 0;
  const settings = rates.map((rate, at) => ({ id: `r${at}`, per: [], who: {}, on: {}, ...rate }));
  const limiter = new Rates(settings, world, { now: () => now });
  return {
    limiter,
    pass: (ms: number) => {
      now += ms;
    },
    admit: (question = call('x')) => atOnce(limiter.admit(question)),
  };
}

describe('a rate', () => {
  test('allows a burst, then one after the other, and says when to retry', () => {
    const { admit, pass } = setup({ perSecond: 2, burst: 3 });
    for (let at = 0; at < 3; at++) expect(admit()).not.toBeInstanceOf(RateExceeded);
    expect(admit()).toEqual(new RateExceeded('r0', 500));
    pass(400);
    expect(admit()).toEqual(new RateExceeded('r0', 100));
    pass(100);
    expect(admit()).not.toBeInstanceOf(RateExceeded);
    expect(admit()).toBeInstanceOf(RateExceeded);
    pass(60_000);
    for (let at = 0; at < 3; at++) expect(admit()).not.toBeInstanceOf(RateExceeded);
    expect(admit()).toBeInstanceOf(RateExceeded);
  });

  test('is separate for each key that it is shared by', () => {
    const { admit } = setup({ perSecond: 1, per: ['principal', 'tool'] });
    expect(admit(call('x'))).not.toBeInstanceOf(RateExceeded);
    expect(admit(call('x'))).toBeInstanceOf(RateExceeded);
    expect(admit(call('y'))).not.toBeInstanceOf(RateExceeded);
    expect(admit(call('x', { principal: key('ci') }))).not.toBeInstanceOf(RateExceeded);
    expect(admit(call('x', { endpoint: '/team/mcp' }))).toBeInstanceOf(RateExceeded);
    expect(admit(call('x', { backend: 'mail' }))).not.toBeInstanceOf(RateExceeded);
  });

  test('does not go back in time', () => {
    const { admit, pass } = setup({ perSecond: 1 });
    expect(admit()).not.toBeInstanceOf(RateExceeded);
    pass(-10_000);
    expect(admit()).toEqual(new RateExceeded('r0', 1_000));
  });

  test('counts only what it matches', () => {
    const { admit } = setup({ perSecond: 1, what: ['call'], on: { tools: ['x*'] }, who: { keys: ['ci'] } });
    const ci = { principal: key('ci') };
    expect(admit(call('x', ci))).not.toBeInstanceOf(RateExceeded);
    expect(admit(call('x', ci))).toBeInstanceOf(RateExceeded);
    expect(admit(call('x'))).not.toBeInstanceOf(RateExceeded);
    expect(admit(call('y', ci))).not.toBeInstanceOf(RateExceeded);
    expect(admit(read('file:///x', ci))).not.toBeInstanceOf(RateExceeded);
  });
});

test('a limit on addresses is met by every spelling of them', () => {
  const { admit } = setup({ perSecond: 1, on: { uris: ['file:///big/**'] } });
  expect(admit(read('file:///big/x'))).not.toBeInstanceOf(RateExceeded);
  for (const uri of ['FILE:///big/x', 'file:///%62ig/x', 'file:///a/../big/x', 'file://localhost/big/x'])
    expect([uri, admit(read(uri))]).toEqual([uri, expect.any(RateExceeded)]);
  expect(admit(read('file:///small/x'))).not.toBeInstanceOf(RateExceeded);
});

describe('calls at the same time', () => {
  test('are as many as the limit allows, until one is over', () => {
    const { admit } = setup({ concurrent: 2, per: ['backend'] });
    const first = admit();
    admit();
    expect(admit()).toEqual(new RateExceeded('r0', 1_000));
    if (first instanceof RateExceeded) throw new Error('it was refused');
    first.release();
    // Whoever gives back twice gives back once.
    first.release();
    expect(admit()).not.toBeInstanceOf(RateExceeded);
    expect(admit()).toBeInstanceOf(RateExceeded);
    expect(admit(call('x', { backend: 'mail' }))).not.toBeInstanceOf(RateExceeded);
  });
});

test('a request that one limit rejects does not count with another', () => {
  const { admit, pass } = setup({ perSecond: 1, burst: 2 }, { concurrent: 1 });
  const first = admit();
  expect(admit()).toEqual(new RateExceeded('r1', 1_000));
  expect(admit()).toEqual(new RateExceeded('r1', 1_000));
  if (!(first instanceof RateExceeded)) first.release();
  expect(admit()).not.toBeInstanceOf(RateExceeded);
  pass(0);
  expect(admit()).toBeInstanceOf(RateExceeded);
});

test('unused counters make room', () => {
  const { limiter, admit } = setup({ perSecond: 1, per: ['tool'] });
  for (let at = 0; at < 100_100; at++) admit(call(`t${at}`));
  expect(limiter.size).toBe(100_000);
});

test('a name of megabytes is not kept as the key of a measure', () => {
  const asked: string[] = [];
  const digest = (text: string) => {
    asked.push(text);
    return 'd'.repeat(64);
  };
  const settings = [{ id: 'each', per: ['tool'] as const, who: {}, on: {}, concurrent: 1 }];
  const rates = new Rates(settings, { ...world, digest }, { now: () => 0 });
  const name = 'x'.repeat(3_000_000);
  expect(rates.admit(call(name))).not.toBeInstanceOf(RateExceeded);
  expect(rates.admit(call(name))).toBeInstanceOf(RateExceeded);
  expect(asked.every((text) => text.length > 3_000_000)).toBe(true);
  expect(asked).toHaveLength(2);
  expect(rates.admit(call('short'))).not.toBeInstanceOf(RateExceeded);
  expect(asked).toHaveLength(2);
});
