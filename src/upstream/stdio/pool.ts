/**
 * The processes of one stdio backend. A legacy process is its session, so each client session gets a process of its
 * own, and a used process is never given to a different one. The number of processes, of waiting callers, and the
 * waiting time are limited; principals take turns. When all are taken, processes without a session are evicted first
 * (dispensable.ts).
 */
import { Failure } from '../../errors/failure.ts';
import type { Clock } from '../../exchange/clock.ts';
import { FairQueue } from '../../exchange/fair-queue.ts';
import { type Backoff, STEADY_MS } from '../backoff.ts';
import { LocalRefusal, leftAlone, outOfService } from '../health.ts';
import type { Child } from './child.ts';
import { Crashes } from './crashes.ts';
import { dispensable, type EvictionCandidate } from './dispensable.ts';
import { IdleSweep } from './idle.ts';

export interface PoolLimits {
  readonly maxProcesses: number;
  /** A process is ended after this idle time. */
  readonly idleMs: number;
  /** Limit of callers that wait for a process; over it, one is refused at once. */
  readonly queue: number;
  /** How long a caller waits for a process. */
  readonly waitMs: number;
  /** The backend keeps no state, so ending an idle process costs only the time to start a new one. */
  readonly isStateless?: boolean;
}

/** A longer queue would not be served within the time that callers wait. */
export const POOL_QUEUE = 64;
/** Shorter than the time that clients give `initialize`, so that they get "busy" and not a timeout. */
export const POOL_WAIT_MS = 10_000;

/** What the pool needs to know of a process. */
export type PooledChild = Pick<
  Child,
  'startedAt' | 'lastActive' | 'used' | 'alive' | 'busy' | 'hasAnswered' | 'kept' | 'onRest' | 'ended' | 'gone' | 'stop'
>;

export interface PoolOptions<C extends PooledChild> {
  /** Rejects with a Failure. */
  start(): Promise<C>;
  readonly limits: PoolLimits;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  /** How soon a failed command is started again. */
  readonly backoff: Backoff;
}

interface Waiter<C> {
  readonly owner: string | undefined;
  take(child: C): void;
  refuse(failure: Failure): void;
  cancelTimer(): void;
}

export class ChildPool<C extends PooledChild> {
  readonly #options: PoolOptions<C>;
  /** By process: the principal whose session it is; undefined: it belongs to no session. */
  readonly #children = new Map<C, string | undefined>();
  readonly #waiters: FairQueue<Waiter<C>>;
  readonly #crashes: Crashes;
  readonly #idle: IdleSweep;
  #starting = 0;
  #closed = false;
  #lastFailure: Failure | undefined;
  #cancelPump: (() => void) | undefined;
  #cancelRest: (() => void) | undefined;

  constructor(options: PoolOptions<C>) {
    this.#options = options;
    this.#waiters = new FairQueue(options.limits.queue);
    this.#crashes = new Crashes(options.backoff.leastMs, options.clock);
    this.#idle = new IdleSweep(() => this.#children.keys(), options.limits.idleMs, options.clock);
  }

  /** Processes that exist or are being started. One that is being stopped still counts. */
  get size(): number {
    return this.#children.size + this.#starting;
  }

  /** A new process, which the caller stops. Rejects with a Failure. `owner`: the principal whose session it will be. */
  acquire(waitMs = this.#options.limits.waitMs, owner?: string): Promise<C> {
    const pause = this.#crashes.pause(keyOf(owner));
    return pause === undefined ? this.#acquire(waitMs, owner) : pause.then(() => this.#acquire(waitMs, owner));
  }

  #acquire(waitMs: number, owner: string | undefined): Promise<C> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(outOfService());
        return;
      }
      const { clock, backoff } = this.#options;
      if (backoff.leftMs(clock.now()) > waitMs) {
        reject(this.#resting());
        return;
      }
      const waiter: Waiter<C> = {
        owner,
        take: resolve,
        refuse: reject,
        cancelTimer: clock.after(waitMs, () => this.#giveUp(waiter)),
      };
      const displaced = this.#waiters.push(keyOf(owner), waiter);
      displaced?.cancelTimer();
      displaced?.refuse(this.#busy());
      this.#pump();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelPump?.();
    this.#cancelRest?.();
    this.#idle.stop();
    this.#crashes.close();
    for (const waiter of this.#waiters.drain()) {
      waiter.cancelTimer();
      waiter.refuse(outOfService());
    }
    await Promise.all([...this.#children.keys()].map((child) => child.stop()));
  }

  #pump(): void {
    const { limits, clock, backoff } = this.#options;
    while (this.#waiters.size > 0) {
      if (this.size >= limits.maxProcesses) {
        this.#makeRoom();
        return;
      }
      // After a failure, only one caller tries the command, and the others wait for its outcome.
      if (this.#starting > 0 && backoff.isDoubtful) return;
      const rest = backoff.leftMs(clock.now());
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

  /** Evicts one process for each waiting caller. The caller is served when the process is gone. */
  #makeRoom(): void {
    const next = this.#waiters.peek();
    if (next === undefined) return;
    let going = 0;
    const candidates: EvictionCandidate<C>[] = [];
    for (const [child, owner] of this.#children) {
      if (!child.alive) going++;
      else candidates.push({ child, owner });
    }
    if (going >= this.#waiters.size) return;
    const { clock, limits } = this.#options;
    const found = dispensable(candidates, next.owner, { now: clock.now(), isStateless: limits.isStateless === true });
    if (found === undefined) return;
    const message = 'Backend process was ended to free its place for another client';
    // No session is lost: the same can be read from a different process.
    const isNobodys = this.#children.get(found) === undefined;
    void found.stop(isNobodys ? new Failure('backend_session_lost', { message }) : new LocalRefusal({ message }));
  }

  async #start(waiter: Waiter<C>): Promise<void> {
    waiter.cancelTimer();
    this.#starting++;
    try {
      const child = await this.#options.start();
      this.#starting--;
      this.#adopt(child, waiter.owner);
      if (this.#closed) {
        await child.stop();
        waiter.refuse(outOfService());
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

  #adopt(child: C, owner: string | undefined): void {
    this.#children.set(child, owner);
    child.onRest(() => {
      const { backoff } = this.#options;
      if (child.hasAnswered && backoff.isDoubtful) backoff.worked();
      if (this.#waiters.size === 0) return;
      // The caller may continue at once, for example with the next page of a list.
      this.#cancelRest ??= this.#options.clock.after(0, () => {
        this.#cancelRest = undefined;
        this.#pump();
      });
    });
    if (!this.#closed) this.#idle.arm();
    void child.ended.then((exit) => {
      // A process that was stopped has not failed, however soon that was.
      if (exit === undefined) return;
      // A process that has answered works, so its caller caused the crash. Otherwise, a process that ends soon does not
      // work, and the restart backoff applies.
      const { clock, backoff } = this.#options;
      if (child.hasAnswered) this.#crashes.add(keyOf(owner));
      else if (clock.now() - child.startedAt < STEADY_MS) this.#failed(exit);
      else backoff.worked();
    });
    void child.gone.then(() => {
      this.#children.delete(child);
      if (!this.#closed) this.#pump();
    });
  }

  #failed(failure: Failure): void {
    this.#lastFailure = failure;
    this.#options.backoff.failed(this.#options.clock.now());
  }

  #giveUp(waiter: Waiter<C>): void {
    if (!this.#waiters.remove(keyOf(waiter.owner), waiter)) return;
    const { clock, backoff } = this.#options;
    const resting = backoff.leftMs(clock.now()) > 0;
    waiter.refuse(resting ? this.#resting() : this.#busy());
  }

  #busy(): Failure {
    const message = `Backend busy: all its processes are in use (\`maxProcesses\`: ${this.#options.limits.maxProcesses})`;
    return new Failure('backend_busy', { message });
  }

  /** Refuses during the backoff after a failed start. */
  #resting(): Failure {
    const { clock, backoff } = this.#options;
    return leftAlone(this.#lastFailure, backoff.leftMs(clock.now()));
  }
}

/** Callers without a session share a queue of their own. */
function keyOf(owner: string | undefined): string {
  return owner ?? '';
}
