/** When a decision point counts as failed: a client must not be able to make a healthy one look so. */
import { expect, it } from 'vitest';
import { Breaker } from '../../src/decisions/breaker.ts';
import { DecisionPoint } from '../../src/decisions/point.ts';
import { ConfiguredPoints } from '../../src/decisions/points.ts';
import type { ProtocolAnswer } from '../../src/decisions/protocol.ts';
import type { DecisionPointSettings } from '../../src/decisions/settings.ts';
import { QuestionSlots } from '../../src/decisions/slots.ts';
import { withCredential } from '../../src/identity/client-credential.ts';
import type { AuthorizationRequest } from '../../src/policy/authorization-request.ts';
import type { DecisionEffect } from '../../src/policy/outside.ts';
import { type MethodRow, methodRow } from '../../src/wire/methods.ts';
import { LeapClock } from '../interaction/harness/clock.ts';
import { key } from '../policy/setup.ts';
import { verifies } from '../requirements/verifies.ts';

const TIMEOUT_MS = 2_000;
/** The clock goes on meanwhile. */
const MOST_OF_IT_MS = 1_200;

const settings: DecisionPointSettings = {
  name: 'pdp',
  protocol: { kind: 'opa', url: 'http://127.0.0.1/' },
  what: ['call'],
  mode: 'enforce',
  onFailure: 'allow',
  timeoutMs: TIMEOUT_MS,
  // One for each principal.
  concurrent: 4,
  headers: {},
  claims: [],
  arguments: false,
  lists: true,
};

type Answer = (answer: ProtocolAnswer<DecisionEffect> | Error) => void;

/** A decision point that answers when the test says so. */
function manualPoint() {
  const clock = new LeapClock();
  const asked: Answer[] = [];
  const decide = (_request: AuthorizationRequest, signal: AbortSignal) =>
    new Promise<ProtocolAnswer<DecisionEffect>>((resolve, reject) => {
      asked.push((answer) => (answer instanceof Error ? reject(answer) : resolve(answer)));
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  const show = () => Promise.reject(new Error('no list is asked about'));
  const closings: string[] = [];
  const points = new ConfiguredPoints(
    [new DecisionPoint(settings, { decide, show }, clock)],
    false,
    () => undefined,
    async () => void closings.push('closed'),
  );
  const endpoint = { path: '/mcp' } as AuthorizationRequest['endpoint'];
  const ask = async (name = 'mallory', credential?: string) => {
    const row = methodRow('tools/call') as MethodRow;
    const thing = { kind: 'tool', name: 't' } as const;
    const ruling = await points.decide({
      principal: credential === undefined ? key(name) : withCredential(key(name), credential),
      endpoint,
      row,
      backend: 'a',
      revision: undefined,
      thing,
    });
    return { fault: ruling.decisions[0]?.fault, isDenied: ruling.denial !== undefined };
  };
  return { clock, asked, ask, points, endpoint, closings };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

it(
  'questions whose time is over before their turn are denied, whatever `onFailure` says, and open no circuit',
  verifies('gateway:policy:decision-faults'),
  async () => {
    const { clock, asked, ask } = manualPoint();
    const all = Array.from({ length: 9 }, () => ask());
    await soon();
    expect(asked).toHaveLength(1);
    clock.leap(TIMEOUT_MS);
    const [sent, ...waited] = await Promise.all(all);
    expect(sent).toEqual({ fault: 'too_slow', isDenied: false });
    expect(waited).toEqual(waited.map(() => ({ fault: 'waited_too_long', isDenied: true })));
    const next = ask('ann');
    await soon();
    asked.at(-1)?.({ decision: 'deny' });
    expect(await next).toEqual({ fault: undefined, isDenied: true });
  },
);

it(
  'a question that had to wait has the whole time for its answer',
  verifies('gateway:policy:decision-faults'),
  async () => {
    const { clock, asked, ask } = manualPoint();
    const [first, second] = [ask(), ask()];
    await soon();
    clock.leap(MOST_OF_IT_MS);
    asked[0]?.({ decision: 'deny' });
    await first;
    await soon();
    clock.leap(MOST_OF_IT_MS);
    asked[1]?.({ decision: 'deny' });
    expect(await second).toEqual({ fault: undefined, isDenied: true });
  },
);

it(
  'more than 64 waiting questions of a principal are denied at once',
  verifies('gateway:policy:decision-faults'),
  async () => {
    const { ask } = manualPoint();
    void Array.from({ length: 65 }, () => ask());
    expect(await ask()).toEqual({ fault: 'too_many_questions', isDenied: true });
  },
);

it(
  'one question tries an open circuit, also if an earlier one ends meanwhile',
  verifies('gateway:policy:decision-faults'),
  () => {
    const clock = new LeapClock();
    const breaker = new Breaker(clock);
    const begun = () => breaker.begin() ?? expect.fail('the circuit is open');
    const earlier = begun();
    for (let count = 0; count < 5; count += 1) breaker.ended(begun(), 'failed');
    clock.leap(5_000);
    const trial = begun();
    breaker.ended(earlier, 'unknown');
    expect(breaker.begin()).toBeUndefined();
    breaker.ended(trial, 'answered');
    expect(breaker.begin()).toEqual({ isTrial: false });
  },
);

it('a principal that gives up waiting leaves nothing behind', verifies('gateway:policy:decision-faults'), async () => {
  const slots = new QuestionSlots(1);
  const leave = await slots.enter('ann', new AbortController().signal);
  const givingUp = new AbortController();
  const waiting = Array.from({ length: 10 }, (_, at) => slots.enter(`p${at}`, givingUp.signal));
  givingUp.abort(new Error('no time left'));
  for (const one of waiting) await expect(one).rejects.toThrow('no time left');
  leave();
  expect(slots.holders).toBe(0);
});

it(
  'a retired decision point is closed when the last question is answered',
  verifies('gateway:policy:decision-faults', 'gateway:reload:policy'),
  async () => {
    const { asked, ask, points, closings } = manualPoint();
    const answer = ask();
    await soon();
    const retired = points.retire();
    await soon();
    expect(closings).toEqual([]);
    asked[0]?.({ decision: 'deny' });
    expect(await answer).toEqual({ fault: undefined, isDenied: true });
    await retired;
    expect(closings).toEqual(['closed']);
  },
);

it(
  'a list of more than 10,000 entries fails, and is not asked about',
  verifies('gateway:policy:decision-lists'),
  async () => {
    const { points, endpoint } = manualPoint();
    const entries = Array.from({ length: 10_001 }, (_, at) => ({ name: `t${at}`, backend: 'a' }));
    const { shown, denial } = await points.show({ principal: key('ann'), endpoint }, 'tool', entries);
    expect(shown).toBeUndefined();
    expect(denial).toEqual({ point: 'pdp', fault: 'question_too_large' });
  },
);

it('credentials of one person do not multiply its turns', verifies('gateway:policy:decision-faults'), async () => {
  const { ask, asked } = manualPoint();
  for (const credential of ['Bearer a', 'Bearer b', 'Bearer c']) void ask('mallory', credential);
  await soon();
  expect(asked).toHaveLength(1);
});
