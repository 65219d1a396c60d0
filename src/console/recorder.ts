/**
 * Watches the gateway for the console: the last calls, their history by minute, the rules that decided, and the
 * principals that sent requests. Everything is bounded, and nothing is kept on disk.
 */
import type { BackendConfig } from '../config/config.ts';
import type { CallOutcome } from '../exchange/call.ts';
import type { Clock } from '../exchange/clock.ts';
import type { CallObserver, MessageEnding, ObservedCall } from '../exchange/observer.ts';
import type { Backend } from '../exchange/upstream-session.ts';
import type { Watcher } from '../observe/watchers.ts';
import type { RequestContext } from '../pipeline/context.ts';
import type { Request } from '../wire/message.ts';
import { isToolError, member, valueAt } from '../wire/values.ts';
import { BackendTimes } from './backend-times.ts';
import { CallRing } from './call-ring.ts';
import { History } from './history.ts';
import { bodiesOf, isFailed, messageFacts, outcomeOf, rulingOf } from './message-facts.ts';
import type { BackendTiming } from './recorded-call.ts';
import { RuleHits } from './rule-hits.ts';
import { SeenPeople } from './seen-people.ts';

export interface ConsoleRecorderOptions {
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  /** Off without a console in the config: recording costs some microseconds of every call. */
  readonly isOn: boolean;
  /** How many calls are kept. */
  readonly calls: number;
  /** Bytes of all recorded bodies together; undefined: bodies are not recorded. */
  readonly bodyBytes: number | undefined;
}

/** What came in at one endpoint, or went to one backend. */
export interface Traffic {
  readonly history: History;
  inFlight: number;
  /** When a backend last answered, in milliseconds since 1970; 0: never. */
  answeredAt: number;
}

/** What the gateway sent for one message. */
interface Sent {
  readonly timings: BackendTiming[];
  /** The result says `isError`. */
  isToolError: boolean;
}

/** Endpoints and backends with a history of their own, 55 KB each. Those beyond are only in the history of all. */
const HISTORIES = 200;
/** Requests to backends that are listed with one call: its rounds, or the backends of a merged list. */
const TIMINGS = 32;
/** Messages at backends whose timings are known at a time. */
const SENT = 4_096;

export class ConsoleRecorder implements Watcher {
  readonly recent: CallRing;
  readonly all = new History();
  /** Messages that have not ended. */
  inFlight = 0;
  readonly rules: RuleHits;
  readonly people: SeenPeople;
  readonly times: BackendTimes;
  readonly #options: ConsoleRecorderOptions;
  readonly #endpoints = new Map<string, Traffic>();
  readonly #backends = new Map<string, Traffic>();
  /**
   * By the message that is sent to a backend, until the client's message ends. The gateway's own requests have no such
   * end: they leave when others come.
   */
  readonly #sent = new Map<Request, Sent>();

  constructor(options: ConsoleRecorderOptions) {
    this.#options = options;
    this.recent = new CallRing(options.calls, options.bodyBytes ?? 0);
    this.rules = new RuleHits(options.timeOfDay);
    this.people = new SeenPeople(options.timeOfDay);
    this.times = new BackendTimes(options.timeOfDay);
  }

  get isOn(): boolean {
    return this.#options.isOn;
  }

  get recordsBodies(): boolean {
    return this.#options.bodyBytes !== undefined;
  }

  endpoint(path: string): Traffic | undefined {
    return this.#endpoints.get(path);
  }

  backend(name: string): Traffic | undefined {
    return this.#backends.get(name);
  }

  readonly messages = {
    began: (context: RequestContext): void => {
      const traffic = trafficIn(this.#endpoints, context.endpoint.path);
      if (traffic !== undefined) traffic.inFlight += 1;
      this.inFlight += 1;
    },
    ended: (context: RequestContext, ending: MessageEnding): void => {
      const traffic = this.#endpoints.get(context.endpoint.path);
      if (traffic !== undefined) traffic.inFlight -= 1;
      this.inFlight -= 1;
      if (context.message.kind === 'request' || ending.failure !== undefined) this.#record(context, ending, traffic);
    },
  };

  calls({ name: backend }: Pick<BackendConfig, 'name'>): CallObserver {
    const traffic = trafficIn(this.#backends, backend);
    return {
      began: (call) => {
        if (traffic !== undefined) traffic.inFlight += 1;
        this.#tellSent(backend, call);
      },
      ended: (call, outcome) => {
        const ms = this.#options.clock.now() - call.startedAt;
        if (traffic !== undefined) this.#count(traffic, ms, outcome);
        this.#tellAnswered(backend, call, ms, outcome);
      },
    };
  }

  made(backend: Backend): void {
    this.times.watch(backend);
  }

  #count(traffic: Traffic, ms: number, outcome: CallOutcome | undefined): void {
    const now = this.#options.timeOfDay();
    traffic.inFlight -= 1;
    traffic.history.record(now, ms, outcome !== undefined && outcome.kind !== 'result');
    if (outcome !== undefined && outcome.kind !== 'failure') traffic.answeredAt = now;
  }

  #tellSent(backend: string, { request, startedAt }: ObservedCall): void {
    let sent = this.#sent.get(request.message);
    if (sent === undefined) {
      sent = { timings: [], isToolError: false };
      this.#sent.set(request.message, sent);
      if (this.#sent.size > SENT) this.#sent.delete(this.#sent.keys().next().value as Request);
    }
    if (sent.timings.length < TIMINGS) sent.timings.push({ backend, startedAt });
  }

  #tellAnswered(backend: string, { request }: ObservedCall, ms: number, outcome: CallOutcome | undefined): void {
    const sent = this.#sent.get(request.message);
    const timing = sent?.timings.findLast((one) => one.backend === backend && one.ms === undefined);
    if (sent === undefined || timing === undefined) return;
    timing.ms = ms;
    if (outcome?.kind === 'error') {
      const code = member(outcome.message.error, 'code');
      const value = code && valueAt(outcome.message.bytes, code);
      if (typeof value === 'number') timing.code = value;
    }
    if (outcome?.kind === 'result' && request.row.method === 'tools/call')
      sent.isToolError = isToolError(outcome.message);
  }

  #record(context: RequestContext, ending: MessageEnding, traffic: Traffic | undefined): void {
    const { clock, timeOfDay } = this.#options;
    const now = timeOfDay();
    const ms = clock.now() - context.startedAt;
    const message = (context.call as RequestContext['call'] | undefined)?.message;
    const sent = message && this.#sent.get(message);
    if (message !== undefined) this.#sent.delete(message);
    const outcome = outcomeOf(ending, sent?.isToolError === true);
    const failed = isFailed(outcome);
    this.all.record(now, ms, failed);
    traffic?.history.record(now, ms, failed);
    const ruling = rulingOf(context, ending.failure);
    const isDenied = outcome === 'denied';
    if (ruling !== undefined) this.rules.count(ruling, isDenied);
    const facts = messageFacts(context);
    this.people.saw(context.principal, facts);
    this.recent.add({
      facts,
      at: now - ms,
      startedAt: context.startedAt,
      ms,
      outcome,
      reason: ending.failure?.reason,
      rules: ruling?.rules ?? [],
      wouldDeny: ruling?.wouldDeny,
      backendCalls: sent?.timings ?? [],
      bodies: this.recordsBodies ? bodiesOf(context, ending) : undefined,
    });
  }
}

function trafficIn(all: Map<string, Traffic>, name: string): Traffic | undefined {
  const known = all.get(name);
  if (known !== undefined || all.size >= HISTORIES) return known;
  const made = { history: new History(), inFlight: 0, answeredAt: 0 };
  all.set(name, made);
  return made;
}
