import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/errors/failure.ts';
import { Backoff } from '../../../src/upstream/backoff.ts';
import { LocalRefusal } from '../../../src/upstream/health.ts';
import { ChildPool, type PooledChild, type PoolLimits } from '../../../src/upstream/stdio/pool.ts';
import { ManualClock } from '../support/clock.ts';

const limits: PoolLimits = {
  maxProcesses: 2,
  idleMs: 60_000,
  queue: 2,
  waitMs: 5_000,
};

const pauses = { restartMinMs: 500, restartMaxMs: 8_000 };

class FakeChild implements PooledChild {
  readonly startedAt: number;
  lastActive: number;
  used = false;
  alive = true;
  busy = false;
  kept = false;
  hasAnswered = false;
  stoppedWith: Failure | undefined;
  #resolveEnded: (failure: Failure | undefined) => void = () => undefined;
  #resolveGone: () => void = () => undefined;
  readonly ended = new Promise<Failure | undefined>((resolve) => {
    this.#resolveEnded = resolve;
  });
  readonly gone = new Promise<void>((resolve) => {
    this.#resolveGone = resolve;
  });

  constructor(now: number) {
    this.startedAt = now;
    this.lastActive = now;
  }

  onRest(action: () => void): void {
    this.rest = action;
  }

  /** Nobody waits for it any more. */
  rest: () => void = () => undefined;

  stop(failure?: Failure): Promise<void> {
    this.stoppedWith = failure;
    this.#end(undefined);
    return this.gone;
  }

  crash(): Promise<void> {
    this.#end(new Failure('backend_unavailable'));
    return this.gone;
  }

  #end(failure: Failure | undefined): void {
    this.alive = false;
    this.#resolveEnded(failure);
    this.#resolveGone();
  }
}

function setup(over: Partial<PoolLimits> = {}) {
  const clock = new ManualClock();
  const children: FakeChild[] = [];
  const faults: Failure[] = [];
  const pool = new ChildPool<FakeChild>({
    start: async () => {
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      const child = new FakeChild(clock.now());
      children.push(child);
      return child;
    },
    limits: { ...limits, ...over },
    clock,
    backoff: new Backoff(pauses, () => 1),
  });
  return { pool, clock, children, faults };
}

const reason = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'got one',
    (failure: Failure) => failure.reason,
  );

describe('the processes of a backend', () => {
  it('are as many as requested, up to the limit; the next one waits for an end', async () => {
    const { pool } = setup();
    const first = await pool.acquire();
    await pool.acquire();
    const third = pool.acquire();
    expect(pool.size).toBe(2);
    void first.stop();
    expect(await third).not.toBe(first);
    expect(first.alive).toBe(false);
    expect(pool.size).toBe(2);
  });

  it('are served in the order of requests', async () => {
    const { pool } = setup({ maxProcesses: 1 });
    const first = await pool.acquire();
    const order: string[] = [];
    const second = pool.acquire().then((child) => {
      order.push('second');
      return child.stop();
    });
    const third = pool.acquire().then(() => order.push('third'));
    await first.stop();
    await Promise.all([second, third]);
    expect(order).toEqual(['second', 'third']);
  });

  it('are refused as busy when the queue is full, or when the wait is too long', async () => {
    const { pool, clock } = setup();
    await pool.acquire();
    await pool.acquire();
    const waiting = [reason(pool.acquire()), reason(pool.acquire())];
    expect(await reason(pool.acquire())).toBe('backend_busy');
    clock.advance(limits.waitMs);
    expect(await Promise.all(waiting)).toEqual(['backend_busy', 'backend_busy']);
  });

  it('are ended when idle for long, unless a call waits for them', async () => {
    const { pool, clock } = setup();
    const idle = await pool.acquire();
    const busy = await pool.acquire();
    busy.busy = true;
    clock.advance(limits.idleMs);
    await idle.gone;
    expect(idle.stoppedWith).toBeInstanceOf(LocalRefusal);
    expect(idle.stoppedWith?.reason).toBe('backend_unavailable');
    expect(busy.alive).toBe(true);
    busy.busy = false;
    busy.lastActive = clock.now();
    clock.advance(limits.idleMs);
    await busy.gone;
  });

  it('are all ended on close, and waiting requests are rejected', async () => {
    const { pool, clock } = setup({ maxProcesses: 1 });
    const child = await pool.acquire();
    const waiting = reason(pool.acquire());
    await pool.close();
    expect(child.alive).toBe(false);
    expect(await waiting).toBe('backend_unavailable');
    expect(await reason(pool.acquire())).toBe('backend_unavailable');
    expect(clock.pending).toEqual([]);
  });

  it('that are just being started when the pool closes are ended too', async () => {
    const { pool, children } = setup();
    const coming = reason(pool.acquire());
    await pool.close();
    expect(await coming).toBe('backend_unavailable');
    expect(children[0]?.alive).toBe(false);
  });
});

describe('a command that keeps exiting', () => {
  it('is started again after a wait that doubles up to its limit', async () => {
    const { pool, clock, children } = setup({ waitMs: 15_000 });
    let child = await pool.acquire();
    for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
      await child.crash();
      const next = pool.acquire();
      const before = children.length;
      clock.advance(wait - 1);
      expect(children).toHaveLength(before);
      clock.advance(1);
      child = await next;
    }
  });

  it('is rejected at once while the backoff is longer than the wait', async () => {
    const { pool, faults, clock } = setup({ waitMs: 100 });
    const fault = new Failure('backend_unavailable', { message: 'no such program' });
    faults.push(fault);
    expect(await reason(pool.acquire())).toBe('backend_unavailable');
    await expect(pool.acquire()).rejects.toMatchObject({ reason: 'backend_unavailable', cause: fault });
    clock.advance(pauses.restartMinMs);
    await pool.acquire();
  });

  it('is waited for within the limit', async () => {
    const { pool, faults, clock, children } = setup({ waitMs: 100 });
    faults.push(new Failure('backend_unavailable'));
    await reason(pool.acquire());
    const patient = reason(pool.acquire(pauses.restartMaxMs));
    clock.advance(pauses.restartMinMs);
    expect(await patient).toBe('got one');
    expect(children).toHaveLength(1);
  });

  it('is reported to requests that wait for the restart', async () => {
    const { pool, faults, clock } = setup({ waitMs: 600 });
    faults.push(new Failure('backend_unavailable'), new Failure('backend_unavailable'));
    await reason(pool.acquire());
    const tries = reason(pool.acquire());
    const waits = reason(pool.acquire());
    clock.advance(500);
    expect(await tries).toBe('backend_unavailable');
    clock.advance(100);
    expect(await waits).toBe('backend_unavailable');
  });

  it('is started at once when it exited after long service, or because we ended it', async () => {
    const { pool, clock, children } = setup();
    const served = await pool.acquire();
    clock.advance(20_000);
    await served.crash();
    const stopped = await pool.acquire();
    await stopped.stop();
    await pool.acquire();
    expect(children).toHaveLength(3);
  });
});
