/**
 * What all requests of a server share: the gateway behind it, its limits, and the timers and counters that hold them.
 */
import type { Gateway } from '../exchange/arrival.ts';
import { Sweep, type SweepClock } from '../exchange/sweep.ts';
import { BodyBudget, type BodyBudgetLimits } from './body.ts';
import type { ConnectionLimits } from './connections.ts';
import { SlowReaders } from './delivery.ts';
import type { IngressNotes } from './events.ts';
import type { Forwarding } from './forwarding.ts';
import type { Ingress } from './ingress.ts';
import type { OutboxLimits } from './outbox.ts';
import { FairTurns } from './turns.ts';

export interface HttpLimits extends OutboxLimits, BodyBudgetLimits, ConnectionLimits {
  readonly bodyBytes: number;
  readonly headerBytes: number;
  readonly jsonDepth: number;
  readonly headersMs: number;
  readonly bodyMs: number;
  readonly refusedBodyBytes: number;
  readonly refusedBodyMs: number;
  readonly sseAfterMs: number;
  readonly keepAliveMs: number;
  readonly readerStallMs: number;
  readonly slowReaderBytes: number;
  /** Requests on one connection whose responses are still due. */
  readonly requestsPerConnection: number;
}

/** What a server is made with. */
export type SharedOptions = Pick<Shared, 'gateway' | 'limits' | 'notes' | 'currentGeneration'> & {
  readonly clock: SweepClock;
  readonly forwarding?: Forwarding | undefined;
};

export class Shared {
  readonly gateway: Gateway;
  readonly notes: IngressNotes;
  /** Absent where the gateway is one process. */
  readonly forwarding: Forwarding | undefined;
  readonly limits: HttpLimits;
  /** A reload replaces `now`. */
  readonly currentGeneration: { readonly now: Ingress };
  /** Times each body, from the end of the headers on. */
  readonly bodies: Sweep;
  /** The same for bodies of refused senders. */
  readonly refusedBodies: Sweep;
  /** Times each piece that waits for a slow reader. */
  readonly stalled: Sweep;
  /** Sends a heartbeat on streams that were silent for `keepAliveMs`. */
  readonly keepAlive: Sweep;
  /** Turns responses that take longer than `sseAfterMs` into streams. Undefined: at once. */
  readonly undecided: Sweep | undefined;
  readonly bodyBudget: BodyBudget;
  readonly readers: SlowReaders;
  readonly turns = new FairTurns();

  constructor({ gateway, limits, notes, clock, currentGeneration, forwarding }: SharedOptions) {
    this.forwarding = forwarding;
    this.gateway = gateway;
    this.notes = notes;
    this.limits = limits;
    this.currentGeneration = currentGeneration;
    this.bodies = new Sweep(limits.bodyMs, clock);
    this.refusedBodies = new Sweep(limits.refusedBodyMs, clock);
    this.stalled = new Sweep(limits.readerStallMs, clock);
    this.keepAlive = new Sweep(limits.keepAliveMs, clock);
    this.undecided = limits.sseAfterMs === 0 ? undefined : new Sweep(limits.sseAfterMs, clock);
    this.bodyBudget = new BodyBudget(limits);
    this.readers = new SlowReaders(limits.slowReaderBytes);
  }

  stopTimers(): void {
    for (const sweep of [this.bodies, this.refusedBodies, this.stalled, this.keepAlive]) sweep.close();
    this.undecided?.close();
  }
}
