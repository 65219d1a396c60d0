/**
 * Fair scheduling between principals. One turn of the event loop reads everything that has arrived, so a principal with
 * a hundred connections would have a hundred requests started before another principal's one. Where several principals
 * send, one request of each is started per turn, and each principal's requests stay in order. A principal that sends
 * alone does not wait.
 */
import { FairQueue } from '../exchange/fair-queue.ts';

/**
 * How many milliseconds per turn are spent on starting requests while many principals wait. At least one is started.
 */
const TURN_MS = 1;
/**
 * After two consecutive requests of different principals, requests take turns for this long. How long ago the first of
 * them sent does not matter: a principal that sends alone by then has one request started per turn of the event loop.
 */
const SHARED_MS = 1_000;
/** The most requests that wait, of all principals together. Beyond this limit they are started as they come. */
const MOST_WAITING = 1_024;
const MOST_WAITING_BYTES = 16 * 1024 * 1024;

interface Start {
  readonly bytes: number;
  readonly run: () => void;
}

export interface TurnPorts {
  /** Milliseconds, with fractions. */
  now(): number;
  /** Runs it once, after everything that has arrived was read. */
  later(run: () => void): void;
}

export class FairTurns {
  readonly #ports: TurnPorts;
  readonly #queue = new FairQueue<Start>(Number.POSITIVE_INFINITY);
  #latest: string | undefined;
  #sharedUntil = 0;
  /** Principals that had a request started in this turn. */
  readonly #served = new Set<string>();
  #bytes = 0;
  #spent = 0;
  #isSet = false;

  constructor(ports: TurnPorts = { now: performance.now.bind(performance), later: setImmediate }) {
    this.#ports = ports;
  }

  /** Runs it now or in a later turn. `run` must not throw. */
  begin(principal: string, bytes: number, run: () => void): void {
    const now = this.#ports.now();
    if (principal !== this.#latest) {
      if (this.#latest !== undefined) this.#sharedUntil = now + SHARED_MS;
      this.#latest = principal;
    }
    if (this.#queue.size === 0 && now >= this.#sharedUntil) run();
    else if (this.#queue.size > 0 || this.#served.has(principal) || this.#spent >= TURN_MS) {
      this.#wait(principal, { bytes, run });
    } else {
      this.#served.add(principal);
      this.#run(run, now);
    }
  }

  #wait(principal: string, start: Start): void {
    this.#queue.push(principal, start);
    this.#bytes += start.bytes;
    while (this.#queue.size > MOST_WAITING || this.#bytes > MOST_WAITING_BYTES) this.#next();
    this.#set();
  }

  #next(): void {
    const start = this.#queue.shift();
    if (start === undefined) return;
    this.#bytes -= start.bytes;
    this.#run(start.run, this.#ports.now());
  }

  #run(run: () => void, now: number): void {
    run();
    this.#spent += this.#ports.now() - now;
    this.#set();
  }

  #set(): void {
    if (this.#isSet) return;
    this.#isSet = true;
    this.#ports.later(() => this.#turn());
  }

  #turn(): void {
    this.#isSet = false;
    this.#spent = 0;
    this.#served.clear();
    let waiting = this.#queue.holders;
    do this.#next();
    while (--waiting > 0 && this.#spent < TURN_MS);
    if (this.#queue.size > 0) this.#set();
  }
}
