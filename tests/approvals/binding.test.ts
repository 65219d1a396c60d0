/** Which calls an approval is for. */
import { expect, it } from 'vitest';
import { bindingOf } from '../../src/approvals/binding.ts';
import { withCredential } from '../../src/identity/client-credential.ts';
import { MemoryRecords } from '../kit/memory-records.ts';
import { verifies } from '../requirements/verifies.ts';
import { bookOver, callOf } from './setup.ts';

it(
  'rounds of a call are the same call; without rounds every parameter counts',
  verifies('gateway:approval:exact'),
  () => {
    const [first, second] = ['safe', 'evil'].map((state) => callOf({ more: `,"requestState":"${state}"` }));
    if (first === undefined || second === undefined) throw new Error('there are two');
    expect(bindingOf(first)).toEqual(bindingOf(second));
    for (const rounds of ['session', 'none'] as const)
      expect(bindingOf({ ...first, rounds })).not.toEqual(bindingOf({ ...second, rounds }));
  },
);

it('another credential for a backend is no other person', verifies('gateway:approval:other'), async () => {
  const call = callOf();
  const carrying = { ...call, principal: withCredential(call.principal, 'Bearer a') };
  expect(bindingOf(carrying).principal).toBe(bindingOf(call).principal);
  expect(bindingOf(carrying).key).not.toBe(bindingOf(call).key);
  const book = bookOver(new MemoryRecords(() => 1), { now: 1 }, 'a');
  const asked = await book.ask(carrying);
  expect(asked).toMatchObject({ question: { principal: call.principal.key } });
});

it('approvals that are kept are bounded', verifies('gateway:approval:bounded'), async () => {
  const book = bookOver(new MemoryRecords(() => 1), { now: 1 }, 'a');
  const calls = Array.from({ length: 12 }, (_, at) => callOf({ arguments: `{"n":${at}}`, demand: { forMs: 60_000 } }));
  for (const call of calls) await book.keep(call, 'id');
  const kept = await Promise.all(calls.map((call) => book.claim(call)));
  expect(kept.filter((one) => one !== undefined).length).toBeLessThanOrEqual(9);
});

it(
  'further rounds that are expected are bounded for each principal',
  verifies('gateway:approval:bounded'),
  async () => {
    const time = { now: 1 };
    const book = bookOver(new MemoryRecords(() => time.now), time, 'a');
    const calls = Array.from({ length: 40 }, (_, at) => callOf({ arguments: `{"n":${at}}` }));
    for (const call of calls) book.continueAs(call, { id: 'id', text: call.demand.text });
    // Another principal still gets its question.
    expect(await book.ask(callOf({ who: 'other' }))).toMatchObject({ isNew: true });
    const rounds = await Promise.all(calls.map((call) => book.claimRound(call)));
    expect(rounds.filter((one) => one !== undefined).length).toBeLessThanOrEqual(9);
  },
);
