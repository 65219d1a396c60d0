/**
 * A backend that comes and goes: how many of the calls that come while it is up are served. Time is moved by the test,
 * a little with every call, so that only counts matter.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, text } from '../harness/behind.ts';
import { type Answer, type Headers, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess, type StdioScript } from '../harness/stdio-backend.ts';
import { type BreakableBackend, breakable } from './breakable-backend.ts';
import { answered, type Caller, caller } from './setup.ts';

const STEP_MS = 100;
const script: Script = { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }) };

async function startBreakable(
  era: (typeof eras)[number],
): Promise<{ clock: LeapClock; link: BreakableBackend; client: Caller }> {
  const clock = new LeapClock();
  const link = await breakable(await (era === 'modern' ? modernBackend : legacyBackend)(script));
  const gateway = await startGateway({ backends: { b: { url: link.url } } }, { clock });
  return { clock, link, client: await caller(era, gateway.url('b')) };
}

/** So many calls, one after the other: how many of them were served. */
async function served(clock: LeapClock, client: Caller, calls: number): Promise<number> {
  let count = 0;
  for (let n = 0; n < calls; n++) {
    clock.leap(STEP_MS);
    if (answered(await client.ask(n)).result !== undefined) count++;
  }
  return count;
}

describe.each(eras)('a %s backend over HTTP that flaps', verifies('gateway:backend:flapping-served'), (era) => {
  it.each([
    { name: 'short gaps', up: 20, down: 2 },
    { name: 'gaps until it counts as down', up: 20, down: 5 },
    { name: 'gaps of several looks', up: 60, down: 20 },
  ])('serves most of the calls that come while it is up, round after round: $name', async ({ up, down }) => {
    const { clock, link, client } = await startBreakable(era);
    const rounds: number[] = [];
    for (let round = 0; round < 8; round++) {
      rounds.push(await served(clock, client, up));
      await link.shut();
      expect(await served(clock, client, down)).toBe(0);
      await link.open();
    }
    expect(rounds[0]).toBe(up);
    // The last rounds are no worse than the first ones: a pause that grew is over with the first answer.
    for (const count of rounds) expect(count).toBeGreaterThan(up / 2);
  });

  it('serves many of the calls that arrive while it is up', async () => {
    const { clock, link, client } = await startBreakable(era);
    let count = 0;
    const rounds = 60;
    for (let round = 0; round < rounds; round++) {
      count += await served(clock, client, 1);
      await link.shut();
      await served(clock, client, 1);
      await link.open();
    }
    // Nearly all, unless a look falls into a gap: that costs a pause, and how often it does is up to the machine.
    expect(count).toBeGreaterThan(rounds / 4);
  });
});

/**
 * One process serves everybody, so that a caller who makes it crash takes the calls along that run there: and no
 * others.
 */
describe.each([
  { name: 'a modern process', era: 'modern' },
  { name: 'a shared legacy process', era: 'legacy' },
] as const)('$name that one caller crashes repeatedly', ({ era }) => {
  it('serves the calls of another after the shortest pause', verifies('gateway:backend:flapping-served'), async () => {
    const clock = new LeapClock();
    const crashing: StdioScript = {
      'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }),
      'tools/call': (turn) => {
        if (turn.message.params.arguments?.die) turn.process.exit(1);
        else turn.result({ resultType: 'complete', ...text('alive') });
      },
    };
    const { command, args } = await (era === 'modern' ? modernProcess : legacyProcess)(crashing);
    const ring = keyRing();
    const [alice, bob] = [bearer(ring.make('alice')), bearer(ring.make('bob'))];
    const gateway = await startGateway(
      {
        backends: { b: { command, args, ...(era === 'legacy' && { share: true }) } },
        identity: { keys: { file: ring.path } },
        // Time leaps while a process starts: that must not count against its probe.
        limits: { restartMinMs: 4_000, restartMaxMs: 600_000, probeMs: 60_000, initializeMs: 60_000 },
      },
      { clock },
    );
    const url = gateway.url('b');
    const ask = async (who: Headers, args: object): Promise<Answer> => {
      if (era === 'legacy') return (await connectLegacy(url, {}, who)).post(call(1, args));
      const params = { name: 'work', arguments: args };
      return send(url, modern({ method: 'tools/call', params, headers: who }));
    };
    /** Whoever is in a pause waits, or is told to come again: both end with the shortest pause. */
    const passing = async (asking: () => Promise<Answer>): Promise<Answer[]> => {
      const answers: Answer[] = [];
      const began = clock.now();
      void (async () => {
        do answers.push(await asking());
        while (answered(answers.at(-1) as Answer).error?.data?.retryAfterMs !== undefined);
      })().catch(() => undefined);
      await until(() => {
        const last = answers.at(-1);
        if (last !== undefined && answered(last).error?.data?.retryAfterMs === undefined) return true;
        if (clock.now() - began < 8_000) clock.leap(500);
        return false;
      }, 'it is answered after the shortest pause');
      return answers;
    };
    for (let round = 0; round < 6; round++) {
      await passing(() => ask(alice, { die: true }));
      const answers = await passing(() => ask(bob, {}));
      expect(answered(answers.at(-1) as Answer).result.content).toEqual(text('alive').content);
    }
  });
});
