import type { Failure } from '../../../src/errors/failure.ts';
import type { CallOutcome, CallRequest, CallSink, ClientFacts, ServerRequest } from '../../../src/exchange/call.ts';
import type { UpstreamSessionSink } from '../../../src/exchange/upstream-session.ts';
import { systemPermit } from '../../../src/policy/permit.ts';
import type { BackendNotes, OddKind } from '../../../src/upstream/channel.ts';
import type { HealthReporter } from '../../../src/upstream/health.ts';
import { readCapabilities } from '../../../src/wire/capabilities.ts';
import type { Notification, Request } from '../../../src/wire/message.ts';
import { methodRow } from '../../../src/wire/methods.ts';
import type { Revision } from '../../../src/wire/revisions.ts';
import { readMessage } from '../../../src/wire/scan.ts';

export const permit = systemPermit('list');

export const limits = {
  firstByteMs: 60_000,
  idleMs: 120_000,
  totalMs: 600_000,
  probeMs: 5_000,
  probeAgeMs: 600_000,
  legacyHalfMs: 30_000,
  slowStartMs: 10_000,
  asksPerSession: 3,
  downAfter: 3,
  restartMaxMs: 30_000,
  changesMs: 100,
};

/** For what is looked at without a backend that could be down. */
export const untroubled: HealthReporter = {
  phase: 'closed',
  refusal: () => undefined,
  reached: () => undefined,
  unreached: () => undefined,
  suspected: () => undefined,
};

/** As a client sends it: the text is taken as it stands. */
export function sent(text: string): Request {
  const message = readMessage(Buffer.from(text), { depth: 64 });
  if (message.kind !== 'request') throw new TypeError('no request');
  return message;
}

export function told(text: string): Notification {
  const message = readMessage(Buffer.from(text), { depth: 64 });
  if (message.kind !== 'notification') throw new TypeError('no notification');
  return message;
}

export function client(revision: Revision, capabilities: unknown = {}, info?: string): ClientFacts {
  return { revision, info, capabilities: readCapabilities(capabilities) };
}

export function callOf(text: string, more: Partial<CallRequest> = {}): CallRequest {
  const message = sent(text);
  const row = methodRow(message.method);
  if (row === undefined) throw new TypeError(`no row for ${message.method}`);
  return { row, message, client: client('2025-11-25'), progress: false, logLevel: undefined, ...more };
}

export const toolCall = '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"t"}}';

export function outcomeText(outcome: CallOutcome | undefined): string | undefined {
  if (outcome === undefined) return undefined;
  if (outcome.kind === 'failure') return `failure ${outcome.failure.reason}`;
  return `${outcome.kind} ${outcome.vocabulary}`;
}

export class CallRecorder implements CallSink {
  readonly notes: string[] = [];
  readonly asks: ServerRequest[] = [];
  readonly withdrawn: string[] = [];
  readonly pauses: (number | undefined)[] = [];
  readonly outcomes: CallOutcome[] = [];
  #settled: () => void = () => undefined;
  readonly settled = new Promise<void>((resolve) => {
    this.#settled = resolve;
  });

  notify(notification: Notification): void {
    this.notes.push(Buffer.from(notification.bytes).toString());
  }

  ask(ask: ServerRequest): void {
    this.asks.push(ask);
    ask.onWithdrawn(() => this.withdrawn.push(ask.message.id.raw));
  }

  pause(retryMs: number | undefined): void {
    this.pauses.push(retryMs);
  }

  settle(outcome: CallOutcome): void {
    this.outcomes.push(outcome);
    this.#settled();
  }

  get ends(): (string | undefined)[] {
    return this.outcomes.map(outcomeText);
  }
}

export class LaneRecorder implements UpstreamSessionSink {
  readonly notes: string[] = [];
  readonly asks: ServerRequest[] = [];
  readonly withdrawn: string[] = [];
  readonly losses: Failure[] = [];

  notify(notification: Notification): void {
    this.notes.push(notification.method);
  }

  ask(ask: ServerRequest): void {
    this.asks.push(ask);
    ask.onWithdrawn(() => this.withdrawn.push(ask.message.id.raw));
  }

  lost(failure: Failure): void {
    this.losses.push(failure);
  }
}

export class OddNotes implements BackendNotes {
  readonly odds: OddKind[] = [];

  noise(): void {
    return;
  }

  flood(): void {
    return;
  }

  overLimit(): void {
    return;
  }

  streamLost(): () => void {
    return () => undefined;
  }

  streamsFull(): void {
    return;
  }

  refused(): void {
    return;
  }

  odd(kind: OddKind): void {
    this.odds.push(kind);
  }
}

/** Lets everything that is already due happen. */
export function settleDown(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
