/**
 * Isolation as a property. Three principals, of whom one is greedy, call three backends, of which one floods and one
 * answers in the name of others, in random order. Nobody gets a byte that is for somebody else, and every call of those
 * who behave is served, whatever the greedy one does: that is counted in answers of the backend, not in milliseconds.
 *
 * `BASCULE_INTERLEAVINGS=10000 BASCULE_SEED=1 npm run test:isolation` for more of them.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Chance } from '../faults/chance.ts';
import { AT_ONCE, type BackendName, type Call, Crowd } from './crowd.ts';

const interleavings = Number(process.env.BASCULE_INTERLEAVINGS ?? 60);
const seed = Number(process.env.BASCULE_SEED ?? 20260728);
const polite = ['ann', 'bob'];
const greedy = 'eve';
const everybody = [...polite, greedy];

/** Answers that an interleaving may give at random, perhaps before the gateway has read a call that was sent before. */
const EARLY_RELEASES = 3;

/**
 * Between its sending and its turn a call sees the calls that were at work, and at most one of each principal for each
 * of its own.
 */
const mostOvertakings = (own: number) => AT_ONCE + everybody.length * own + EARLY_RELEASES;

interface Played {
  readonly calls: readonly Call[];
  readonly left: ReadonlySet<Call>;
  /** Own calls in the queue at the sending, itself included, by call. */
  readonly own: ReadonlyMap<Call, number>;
}

async function play(crowd: Crowd, chance: Chance): Promise<Played> {
  const calls: Call[] = [];
  const left = new Set<Call>();
  const own = new Map<Call, number>();
  const send = (who: string, backend: BackendName) => {
    const call = crowd.call(who, backend);
    calls.push(call);
    own.set(call, calls.filter((other) => other.who === who && !other.arrived && !left.has(other)).length);
  };
  const acts = [
    ...Array.from({ length: 1 + chance.below(3) }, () => () => send(chance.pick(polite), 'calm')),
    ...Array.from(
      { length: chance.below(3) },
      () => () => send(chance.pick(everybody), chance.pick(['flood', 'thief'] as const)),
    ),
    ...Array.from({ length: chance.below(4) }, () => () => {
      for (let n = chance.below(8); n >= 0; n--) send(greedy, 'calm');
    }),
    ...Array.from({ length: chance.below(EARLY_RELEASES + 1) }, () => () => void crowd.release(chance.below(AT_ONCE))),
    ...Array.from({ length: chance.below(3) }, () => () => {
      const hers = calls.filter((call) => call.who === greedy && !left.has(call));
      if (hers.length === 0) return;
      const call = chance.pick(hers);
      left.add(call);
      crowd.leave(call);
    }),
  ].sort(() => chance.below(3) - 1);
  for (const act of acts) {
    act();
    if (chance.once(2)) await crowd.settled();
  }
  // What is still there is answered one by one.
  do await crowd.settled();
  while (crowd.release(chance.below(AT_ONCE)));
  return { calls, left, own };
}

describe('several principals and hostile backends', () => {
  it(`keep to themselves and are served, in ${interleavings} random interleavings (seed ${seed})`, {
    ...verifies('gateway:isolation:interleavings'),
    timeout: 60_000 + interleavings * 200,
  }, async () => {
    const crowd = await Crowd.gather(everybody);
    try {
      for (let n = 0; n < interleavings; n++) {
        const { calls, left, own } = await play(crowd, new Chance(seed + n));
        for (const call of calls) {
          if (left.has(call)) continue;
          const text = await call.answer;
          const marks = new Set(text.match(/mark-\w+-\d+/g));
          expect({ n, marks: [...marks], stolen: text.includes('stolen'), text }).toEqual({
            ...{ n, marks: [call.token], stolen: false },
            text: expect.stringContaining('"result"'),
          });
          if (polite.includes(call.who))
            expect(call.overtakenBy).toBeLessThanOrEqual(mostOvertakings(own.get(call) ?? 1));
        }
        crowd.forget();
      }
    } finally {
      await crowd.close();
    }
  });
});
