import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import { Backoff } from '../../src/upstream/backoff.ts';
import { Health, type HealthPhase, LocalRefusal, outOfService } from '../../src/upstream/health.ts';

const pauses = { restartMinMs: 500, restartMaxMs: 8_000 };
const away = new Failure('backend_unavailable');
const silent = new Failure('backend_timeout');
const odd = new Failure('backend_invalid');
const busy = new Failure('backend_busy');
const stopping = outOfService();
const ours = new LocalRefusal({ message: 'idle' });

const start = 1_000_000;

interface Step {
  /** After the start. */
  readonly at: number;
  readonly reached?: true;
  readonly unreached?: Failure;
  /** When the attempt was made; at the same time without it. */
  readonly began?: number;
  readonly suspected?: true;
  readonly looking?: true;
  readonly found?: true;
  readonly lookFailed?: Failure;
  readonly phase: HealthPhase;
  /** When it is looked at next. */
  readonly due?: number;
}

const attempt = (at: number, phase: HealthPhase, due?: number): Step => ({
  at,
  unreached: away,
  phase,
  ...(due === undefined ? {} : { due }),
});
const down: readonly Step[] = [{ at: 0, lookFailed: away, phase: 'open', due: 500 }];

const table: readonly { readonly name: string; readonly steps: readonly Step[] }[] = [
  {
    name: 'a response changes nothing while the backend is healthy',
    steps: [{ at: 0, reached: true, phase: 'closed' }],
  },
  {
    name: 'attempts in a row open it at the limit, and not before',
    steps: [attempt(0, 'doubtful', 500), attempt(10, 'doubtful', 500), attempt(20, 'open', 520)],
  },
  {
    name: 'one answer in between starts the count anew',
    steps: [
      attempt(0, 'doubtful', 500),
      attempt(10, 'doubtful', 500),
      { at: 20, reached: true, phase: 'closed' },
      attempt(30, 'doubtful', 530),
      attempt(40, 'doubtful', 530),
      attempt(50, 'open', 550),
    ],
  },
  {
    name: 'concurrent failures count once',
    steps: [
      { at: 100, unreached: away, began: 0, phase: 'doubtful', due: 600 },
      { at: 100, unreached: away, began: 10, phase: 'doubtful', due: 600 },
      { at: 110, unreached: away, began: 99, phase: 'doubtful', due: 600 },
      { at: 120, unreached: away, began: 105, phase: 'doubtful', due: 600 },
      { at: 130, unreached: away, began: 125, phase: 'open', due: 630 },
    ],
  },
  {
    name: 'a failure from before a response says nothing about later calls',
    steps: [
      { at: 100, unreached: away, began: 0, phase: 'doubtful', due: 600 },
      { at: 110, reached: true, phase: 'closed' },
      { at: 120, unreached: away, began: 50, phase: 'doubtful', due: 620 },
    ],
  },
  {
    name: 'a silence counts like an absence',
    steps: [1, 2, 3].map((at) => ({
      at,
      unreached: silent,
      phase: at < 3 ? 'doubtful' : 'open',
      due: at < 3 ? 501 : 503,
    })),
  },
  {
    name: 'a failure that is no unavailability does not count',
    steps: [odd, busy, stopping, ours, new Failure('internal_error')].map((unreached) => ({
      at: 0,
      unreached,
      phase: 'closed',
    })),
  },
  {
    name: 'a suspicion causes a probe, however often it is repeated, and does not count',
    steps: [
      { at: 0, suspected: true, phase: 'doubtful', due: 500 },
      { at: 100, suspected: true, phase: 'doubtful', due: 500 },
      { at: 200, suspected: true, phase: 'doubtful', due: 500 },
      { at: 300, suspected: true, phase: 'doubtful', due: 500 },
      { at: 500, looking: true, phase: 'doubtful' },
      { at: 510, reached: true, phase: 'closed' },
    ],
  },
  { name: 'a look that fails opens it at once', steps: down },
  { name: 'so does one that finds something else there', steps: [{ at: 0, lookFailed: odd, phase: 'open', due: 500 }] },
  {
    name: 'an inconclusive probe changes nothing',
    steps: [busy, stopping, ours].map((lookFailed) => ({ at: 0, lookFailed, phase: 'closed' })),
  },
  {
    name: 'an inconclusive probe keeps the doubt, and is repeated',
    steps: [
      attempt(0, 'doubtful', 500),
      { at: 500, looking: true, phase: 'doubtful' },
      { at: 500, lookFailed: busy, phase: 'doubtful', due: 1_000 },
      { at: 1_000, looking: true, phase: 'doubtful' },
      { at: 1_000, lookFailed: busy, phase: 'doubtful', due: 2_000 },
    ],
  },
  {
    name: 'an inconclusive probe keeps the circuit open, and is repeated',
    steps: [
      ...down,
      { at: 500, looking: true, phase: 'half-open' },
      { at: 500, lookFailed: busy, phase: 'open', due: 1_500 },
    ],
  },
  {
    name: 'pauses double up to their limit while looks fail',
    steps: [
      ...down,
      ...[1_000, 2_000, 4_000, 8_000, 8_000].flatMap((pause, n, all): Step[] => {
        const at = all.slice(0, n).reduce((sum, one) => sum + one, 500);
        return [
          { at, looking: true, phase: 'half-open' },
          { at, lookFailed: away, phase: 'open', due: at + pause },
        ];
      }),
    ],
  },
  {
    name: 'attempts from before the circuit opened change nothing',
    steps: [
      ...down,
      { at: 10, unreached: away, phase: 'open', due: 500 },
      { at: 20, suspected: true, phase: 'open', due: 500 },
    ],
  },
  {
    name: 'nor do they while it is looked at',
    steps: [
      ...down,
      { at: 500, looking: true, phase: 'half-open' },
      ...[510, 511, 512].map((at): Step => ({ at, unreached: away, phase: 'half-open' })),
      { at: 520, suspected: true, phase: 'half-open' },
    ],
  },
  {
    name: 'a response closes the circuit, whichever call got it',
    steps: [...down, { at: 10, reached: true, phase: 'closed' }],
  },
  {
    name: 'a look that finds it closes it',
    steps: [...down, { at: 500, looking: true, phase: 'half-open' }, { at: 510, found: true, phase: 'closed' }],
  },
  {
    name: 'pauses are short again where it was back for a moment',
    steps: [
      ...down,
      { at: 500, looking: true, phase: 'half-open' },
      { at: 510, reached: true, phase: 'closed' },
      { at: 10_509, lookFailed: away, phase: 'open', due: 11_009 },
    ],
  },
  {
    name: 'pauses are short again where it was back for long',
    steps: [
      ...down,
      { at: 500, looking: true, phase: 'half-open' },
      { at: 510, reached: true, phase: 'closed' },
      { at: 10_510, lookFailed: away, phase: 'open', due: 11_010 },
    ],
  },
];

function take(health: Health, step: Step): void {
  const now = start + step.at;
  if (step.reached) health.reached();
  if (step.suspected) health.suspected(now);
  if (step.looking) health.looking();
  if (step.found) health.found();
  if (step.unreached) health.unreached(step.unreached, start + (step.began ?? step.at), now);
  if (step.lookFailed) health.lookFailed(step.lookFailed, now);
}

describe('the health of a backend', () => {
  test.each(table)('$name', ({ steps }) => {
    const health = new Health({ downAfter: 3 }, new Backoff(pauses, () => 1));
    for (const step of steps) {
      take(health, step);
      const due = health.dueAt === undefined ? undefined : health.dueAt - start;
      expect({ at: step.at, phase: health.phase, due }).toEqual({ at: step.at, phase: step.phase, due: step.due });
      const refused = step.phase === 'open' || step.phase === 'half-open';
      expect(health.refusal(start + step.at) !== undefined).toBe(refused);
    }
  });

  test('rejects with the reason, and the time of the next attempt', () => {
    const health = new Health({ downAfter: 3 }, new Backoff(pauses, () => 1));
    const cause = new Failure('backend_timeout', { message: 'Nothing came' });
    health.lookFailed(cause, start);
    const refusal = { reason: 'backend_unavailable', message: 'Nothing came', cause };
    expect(health.refusal(start + 99.5)).toMatchObject({ ...refusal, data: { retryAfterMs: 401 } });
    expect(health.refusal(start + 600)).toMatchObject({ ...refusal, data: { retryAfterMs: 1 } });
    health.looking();
    expect(health.refusal(start + 600)).toMatchObject({ ...refusal, data: { retryAfterMs: pauses.restartMinMs } });
    expect(health.down).toBe(cause);
  });

  test('keeps to the pause that its process is in', () => {
    const pace = new Backoff(pauses, () => 1);
    const health = new Health({ downAfter: 3 }, pace);
    for (const at of [0, 500]) pace.failed(start + at);
    health.suspected(start + 600);
    expect(health.dueAt).toBe(start + 1_500);
    health.found();
    pace.failed(start + 1_600);
    health.found();
    expect([health.phase, pace.leftMs(start + 1_700)]).toEqual(['closed', 0]);
  });
});

describe('the pauses', () => {
  test('begin anew after a success', () => {
    const pace = new Backoff(pauses, () => 1);
    const pauseAt = (at: number) => {
      pace.failed(start + at);
      return pace.leftMs(start + at);
    };
    expect([pauseAt(0), pauseAt(500)]).toEqual([500, 1_000]);
    pace.worked();
    expect([pauseAt(12_000), pauseAt(12_500)]).toEqual([500, 1_000]);
  });

  test.each([
    { name: 'least', random: 0, expect: [500, 500, 1_000, 2_000, 4_000, 4_000] },
    { name: 'middle', random: 0.5, expect: [500, 750, 1_500, 3_000, 6_000, 6_000] },
  ])('are drawn between the half and the whole: $name', ({ random, expect: expected }) => {
    const pace = new Backoff(pauses, () => random);
    let now = start;
    const drawn = expected.map(() => {
      pace.failed(now);
      const left = pace.leftMs(now);
      now += left;
      return left;
    });
    expect(drawn).toEqual(expected);
  });

  test('do not grow when several notice the same failure', () => {
    const pace = new Backoff(pauses, () => 1);
    for (const later of [0, 100, 499]) pace.failed(start + later);
    expect(pace.leftMs(start)).toBe(500);
    pace.failed(start + 500);
    expect(pace.leftMs(start + 500)).toBe(1_000);
  });

  test('are over once it works', () => {
    const pace = new Backoff(pauses, () => 1);
    pace.failed(start);
    expect(pace.isDoubtful).toBe(true);
    pace.worked();
    expect([pace.leftMs(start + 1), pace.isDoubtful]).toEqual([0, false]);
  });
});
