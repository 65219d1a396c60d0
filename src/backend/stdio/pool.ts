/**
 * The processes of one stdio backend. A legacy process is its session, so each client session gets one of its own, and a
 * process that was used is never given to another. Their number, those who wait, and how long are bounded.
 */
import { Failure } from '../../errors.ts';
import type { Clock } from '../../exchange/clock.ts';
import { leftAlone, OwnDoing } from '../health.ts';
import { type Pace, STEADY_MS } from '../pace.ts';

export interface PoolLimits {
  readonly maxProcesses: number;
  /** A process that nobody used for so long is ended. */
  readonly idleMs: number;
  /** Who comes when all processes are taken and so many wait already is told at once. */
  readonly queue: number;
  /** How long one waits for a process. */
  readonly waitMs: number;
}

/** A queue longer than this is not served within the time that anybody waits. */
export const POOL_QUEUE = 64;
/** Shorter than the time that clients give `initialize`, so that they hear "busy" and not nothing. */
export const POOL_WAIT_MS = 10_000;
/** When all processes are taken, one that nobody has used for so long makes room: its client may well be gone. */
const SPARE_MS = 60_000;

/** What the pool needs to know of a process. */
export interface PooledChild {
  readonly startedAt: number;
  readonly lastActive: number;
  readonly used: boolean;
  readonly alive: boolean;
  readonly busy: boolean;
  /** With a failure where it ended by itself. */
  readonly ended: Promise<Failure | undefined>;
  readonly gone: Promise<void>;
  stop(failure?: Failure): Promise<void>;
}

export interface PoolOptions<C extends PooledChild> {
  /** Rejects with a Failure. */
  start(): Promise<C>;
  readonly limits: PoolLimits;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** How soon a command that failed is started again. */
  readonly pace: Pace;
}

interface Waiter<C> {
  take(child: C): void;
  refuse(failure: Failure): void;
  cancelTimer(): void;
}

export class ChildPool<C extends PooledChild> {
  readonly #options: PoolOptions<C>;
  readonly #children = new Set<C>();
  readonly #unused: C[] = [];
  readonly #waiters: Waiter<C>[] = [];
  #starting = 0;
  #closed = false;
  #lastFailure: Failure | undefined;
  #cancelPump: (() => void) | undefined;
  #cancelSweep: (() => void) | undefined;

  constructor(options: PoolOptions<C>) {
    this.#options = options;
  }

  /** Processes that exist or are being started; one that is being stopped still counts. */
  get size(): number {
    return this.#children.size + this.#starting;
  }

  /** A process that nobody has used. Give it back with `release`, or stop it. Rejects with a Failure. */
  acquire(waitMs = this.#options.limits.waitMs): Promise<C> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(new Failure('shutting_down'));
        return;
      }
      const { limits, clock, pace } = this.#options;
      if (pace.leftMs(clock.now()) > waitMs) {
        reject(this.#resting());
        return;
      }
      if (this.#waiters.length >= limits.queue && !this.#hasRoom()) {
        reject(allTaken(limits.maxProcesses));
        return;
      }
      const waiter: Waiter<C> = {
        take: resolve,
        refuse: reject,
        cancelTimer: clock.after(waitMs, () => this.#giveUp(waiter)),
      };
      this.#waiters.push(waiter);
      this.#pump();
    });
  }

  /** Takes back a process. Kept for the next one if nothing was ever sent to it. */
  release(child: C): void {
    if (this.#closed || child.used || !child.alive) {
      void child.stop();
      return;
    }
    this.#unused.push(child);
    this.#pump();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelPump?.();
    this.#cancelSweep?.();
    for (const waiter of this.#waiters.splice(0)) {
      waiter.cancelTimer();
      waiter.refuse(new Failure('shutting_down'));
    }
    await Promise.all([...this.#children].map((child) => child.stop()));
  }

  #hasRoom(): boolean {
    const { limits, clock, pace } = this.#options;
    if (this.#unused.length > 0) return true;
    return this.size < limits.maxProcesses && pace.leftMs(clock.now()) === 0;
  }

  #pump(): void {
    const { limits, clock, pace } = this.#options;
    while (this.#waiters.length > 0) {
      const unused = this.#nextUnused();
      if (unused !== undefined) {
        this.#serve(unused);
        continue;
      }
      if (this.size >= limits.maxProcesses) {
        this.#makeRoom();
        return;
      }
      // A command that failed is tried by one, and the others see what becomes of it.
      if (this.#starting > 0 && pace.isDoubtful) return;
      const rest = pace.leftMs(clock.now());
      if (rest > 0) {
        this.#cancelPump ??= clock.after(rest, () => {
          this.#cancelPump = undefined;
          this.#pump();
        });
        return;
      }
      void this.#start(this.#waiters.shift() as Waiter<C>);
    }
  }

  /** Ends the process that has been idle for longest, if any has been for long enough. Who waits is served when it is gone. */
  #makeRoom(): void {
    const due = this.#options.clock.now() - SPARE_MS;
    const idle = [...this.#children].filter((child) => child.alive && !child.busy && child.lastActive <= due);
    const [longest] = idle.sort((a, b) => a.lastActive - b.lastActive);
    void longest?.stop(new OwnDoing({ message: 'Backend process made room for another client' }));
  }

  #nextUnused(): C | undefined {
    for (let child = this.#unused.shift(); child !== undefined; child = this.#unused.shift()) {
      if (child.alive) return child;
    }
    return undefined;
  }

  #serve(child: C): void {
    const waiter = this.#waiters.shift();
    waiter?.cancelTimer();
    waiter?.take(child);
  }

  async #start(waiter: Waiter<C>): Promise<void> {
    waiter.cancelTimer();
    this.#starting++;
    try {
      const child = await this.#options.start();
      this.#starting--;
      this.#adopt(child);
      if (this.#closed) {
        await child.stop();
        waiter.refuse(new Failure('shutting_down'));
      } else {
        waiter.take(child);
        this.#pump();
      }
    } catch (cause) {
      this.#starting--;
      const failure = cause instanceof Failure ? cause : new Failure('backend_unavailable', { cause });
      this.#failed(failure);
      waiter.refuse(failure);
      this.#pump();
    }
  }

  #adopt(child: C): void {
    this.#children.add(child);
    this.#sweepLater();
    void child.ended.then((exit) => {
      // Who was told to stop did not fail, however soon that was.
      if (exit === undefined) return;
      // One that ends soon did not work: it is not started again at once.
      const { clock, pace } = this.#options;
      if (clock.now() - child.startedAt < STEADY_MS) this.#failed(exit);
      else pace.worked(child.startedAt);
    });
    void child.gone.then(() => {
      this.#children.delete(child);
      if (!this.#closed) this.#pump();
    });
  }

  #failed(failure: Failure): void {
    this.#lastFailure = failure;
    this.#options.pace.failed(this.#options.clock.now());
  }

  #giveUp(waiter: Waiter<C>): void {
    const at = this.#waiters.indexOf(waiter);
    if (at === -1) return;
    this.#waiters.splice(at, 1);
    const { clock, pace, limits } = this.#options;
    const resting = pace.leftMs(clock.now()) > 0;
    waiter.refuse(resting ? this.#resting() : allTaken(limits.maxProcesses));
  }

  /** The command failed a moment ago and is left alone. */
  #resting(): Failure {
    const { clock, pace } = this.#options;
    return leftAlone(this.#lastFailure, pace.leftMs(clock.now()));
  }

  #sweepLater(): void {
    if (this.#closed || this.#cancelSweep !== undefined || this.#children.size === 0) return;
    const { clock, limits } = this.#options;
    let oldest = Number.POSITIVE_INFINITY;
    for (const child of this.#children) oldest = Math.min(oldest, child.lastActive);
    // One that is due and busy is looked at again a whole period later.
    const left = oldest + limits.idleMs - clock.now();
    this.#cancelSweep = clock.after(left > 0 ? left : limits.idleMs, () => {
      this.#cancelSweep = undefined;
      this.#sweep();
    });
  }

  #sweep(): void {
    const { clock, limits } = this.#options;
    const due = clock.now() - limits.idleMs;
    for (const child of this.#children) {
      if (child.alive && !child.busy && child.lastActive <= due) {
        void child.stop(new OwnDoing({ message: 'Backend process was idle and was ended' }));
      }
    }
    this.#sweepLater();
  }
}

function allTaken(processes: number): Failure {
  const message = `Backend busy: all its processes are in use (\`maxProcesses\`: ${processes})`;
  return new Failure('backend_busy', { message });
}
