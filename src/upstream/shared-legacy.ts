/**
 * `share: true`: one legacy process for all clients. The operator declares that it keeps nothing between calls that one
 * client must not see of another. It is initialized for the first client, whose capabilities apply to all. Resource
 * updates go to subscribers, the completion of a URL elicitation to the client that was asked, other notifications
 * outside of calls to all clients. Ids and progress are mapped as always; the most verbose log level is set.
 */

import { visitIds } from '../bridge/url-elicitation.ts';
import { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink, ServerRequest } from '../exchange/call.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import type { Trace } from '../exchange/trace.ts';
import type { Discovery, UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import type { Permit } from '../policy/permit.ts';
import { resultBytes } from '../wire/compose.ts';
import { logLevelAt, mostVerbose } from '../wire/log-level.ts';
import type { Notification, ResultResponse } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, textMember } from '../wire/values.ts';
import { SharedSubscriptions } from './shared-subscriptions.ts';

const VISITED = 'notifications/elicitation/complete';

/**
 * URL elicitations without a completion yet; the oldest are dropped first. Many never complete, and backends need not
 * report it.
 */
const VISITS = 1_000;

/** The clients of the shared session. */
class SharedAudience implements UpstreamSessionSink {
  readonly subscriptions = new SharedSubscriptions<UpstreamSessionSink>();
  /** The log level that each client set. */
  readonly levels = new Map<UpstreamSessionSink, string>();
  /** Which client was asked for a URL elicitation, by its id. */
  readonly #visitors = new Map<string, UpstreamSessionSink>();
  readonly #sinks = new Set<UpstreamSessionSink>();
  readonly #ended: () => void;

  constructor(ended: () => void) {
    this.#ended = ended;
  }

  add(sink: UpstreamSessionSink): void {
    this.#sinks.add(sink);
  }

  /** Removes a client. Returns the subscriptions that no client has any more. */
  leave(sink: UpstreamSessionSink): readonly string[] {
    this.#sinks.delete(sink);
    this.levels.delete(sink);
    for (const [id, visitor] of this.#visitors) if (visitor === sink) this.#visitors.delete(id);
    return this.subscriptions.leave(sink);
  }

  visits(sink: UpstreamSessionSink, ids: readonly string[]): void {
    for (const id of ids) {
      const [oldest] = this.#visitors.keys();
      if (this.#visitors.size >= VISITS && oldest !== undefined) this.#visitors.delete(oldest);
      this.#visitors.set(id, sink);
    }
  }

  /** 2025-11-25, client/elicitation: only the client that was asked gets the completion. */
  #visited(notification: Notification): void {
    const id = textMember(notification.bytes, notification.params, 'elicitationId');
    const visitor = id === undefined ? undefined : this.#visitors.get(id);
    if (id !== undefined) this.#visitors.delete(id);
    visitor?.notify(notification);
  }

  notify(notification: Notification): void {
    if (notification.method === VISITED) this.#visited(notification);
    else
      for (const sink of [...this.#sinks])
        if (this.subscriptions.concerns(notification, sink)) sink.notify(notification);
  }

  /**
   * A server request outside of any call goes to the only client, or is refused where there are several: one client
   * must not answer for another.
   */
  ask(ask: ServerRequest): void {
    const [first, ...others] = this.#sinks;
    if (first !== undefined && others.length === 0) {
      this.visits(first, visitOf(ask));
      first.ask(ask);
    } else ask.answer({ failure: new Failure('ask_not_supported') });
  }

  lost(failure: Failure): void {
    this.#ended();
    const sinks = [...this.#sinks];
    this.#sinks.clear();
    for (const sink of sinks) sink.lost(failure);
  }

  silenced(failure: Failure): void {
    for (const sink of [...this.#sinks]) sink.silenced?.(failure);
  }
}

/** The response to an unsubscribe while other clients are still subscribed. */
const taken = skimMessage(resultBytes('1', '{}')) as ResultResponse;

class SharedUpstreamSession implements UpstreamSession {
  readonly era = 'legacy';
  readonly attributesAsks: boolean;
  readonly discovery: Discovery;
  readonly #upstream: UpstreamSession;
  readonly #audience: SharedAudience;
  readonly #client: UpstreamSessionSink;
  /** The permit under which the client subscribed, by URI. Created for the first one. */
  #permits: Map<string, Permit> | undefined;

  constructor(upstream: UpstreamSession, audience: SharedAudience, client: UpstreamSessionSink) {
    this.#upstream = upstream;
    this.#audience = audience;
    this.#client = client;
    this.discovery = upstream.discovery;
    this.attributesAsks = upstream.attributesAsks;
  }

  call(permit: Permit, request: CallRequest, sink: CallSink): Call {
    const { bytes, params } = request.message;
    const uri = textMember(bytes, params, 'uri');
    if (request.row.method === 'logging/setLevel') return this.#upstream.call(permit, this.#setLevel(request), sink);
    if (uri !== undefined && request.row.method === 'resources/subscribe')
      return this.#subscribe(uri, permit, request, sink);
    if (uri !== undefined && request.row.method === 'resources/unsubscribe') {
      this.#permits?.delete(uri);
      if (!this.#audience.subscriptions.remove(uri, this.#client)) return answer(taken, sink);
    }
    return this.#upstream.call(permit, request, this.#heardBy(sink));
  }

  notify(permit: Permit, notification: Notification, trace?: Trace): void {
    this.#upstream.notify(permit, notification, trace);
  }

  /** The session stays open for the other clients. Each call is ended by its own caller. */
  close(): void {
    for (const uri of this.#audience.leave(this.#client)) {
      const permit = this.#permits?.get(uri);
      if (permit === undefined) continue;
      // The outcome makes no difference to any client.
      callOnce((sink) => this.#upstream.call(permit, ownRequest('resources/unsubscribe', { uri }), sink)).catch(
        () => undefined,
      );
    }
  }

  /** Server requests of this call go to this client. `ended` is called before the client gets the outcome. */
  #heardBy(sink: CallSink, ended?: (outcome: CallOutcome) => void): CallSink {
    return {
      notify: (notification) => sink.notify(notification),
      ask: (ask) => {
        this.#audience.visits(this.#client, visitOf(ask));
        sink.ask(ask);
      },
      pause: (retryMs) => sink.pause(retryMs),
      settle: (outcome) => {
        ended?.(outcome);
        if (outcome.kind === 'error') this.#audience.visits(this.#client, visitIds(outcome.message));
        sink.settle(outcome);
      },
    };
  }

  /**
   * A client that wants fewer messages must not reduce those of the others, so the most verbose level is set and
   * filtered for each client.
   */
  #setLevel(request: CallRequest): CallRequest {
    const { bytes, params } = request.message;
    const level = logLevelAt(bytes, member(params, 'level'));
    if (level === undefined) return request;
    const { levels } = this.#audience;
    levels.set(this.#client, level);
    const wanted = mostVerbose(levels.values());
    return wanted === level ? request : ownRequest('logging/setLevel', { level: wanted });
  }

  #subscribe(uri: string, permit: Permit, request: CallRequest, sink: CallSink): Call {
    const { subscriptions } = this.#audience;
    // Before the response, because the first update may arrive with it.
    const isNew = subscriptions.add(uri, this.#client);
    this.#permits ??= new Map();
    this.#permits.set(uri, permit);
    const forget = () => {
      if (!isNew) return;
      subscriptions.remove(uri, this.#client);
      this.#permits?.delete(uri);
    };
    const heard = this.#heardBy(sink, (outcome) => {
      if (outcome.kind !== 'result') forget();
    });
    const call = this.#upstream.call(permit, request, heard);
    return {
      // A call that is cancelled is not settled.
      cancel: (reason) => {
        forget();
        call.cancel(reason);
      },
      hear: (logLevel) => call.hear?.(logLevel),
    };
  }
}

function visitOf({ message }: ServerRequest): readonly string[] {
  const id = textMember(message.bytes, message.params, 'elicitationId');
  return id === undefined ? [] : [id];
}

function answer(message: ResultResponse, sink: CallSink): Call {
  let wanted = true;
  // The caller does not have the call yet.
  queueMicrotask(() => {
    if (wanted) sink.settle({ kind: 'result', message, vocabulary: 'legacy' });
  });
  return {
    cancel: () => {
      wanted = false;
    },
  };
}

export class SharedLegacy {
  #session: { readonly upstream: Promise<UpstreamSession>; readonly audience: SharedAudience } | undefined;

  /** `open` is called for the first client, and again for the first one after the process ended. */
  async join(
    sink: UpstreamSessionSink,
    open: (sink: UpstreamSessionSink) => Promise<UpstreamSession>,
  ): Promise<UpstreamSession> {
    const session = this.#session ?? this.#begin(open);
    try {
      const upstream = await session.upstream;
      session.audience.add(sink);
      return new SharedUpstreamSession(upstream, session.audience, sink);
    } catch (cause) {
      if (this.#session === session) this.#session = undefined;
      throw cause;
    }
  }

  #begin(open: (sink: UpstreamSessionSink) => Promise<UpstreamSession>): {
    readonly upstream: Promise<UpstreamSession>;
    readonly audience: SharedAudience;
  } {
    const audience = new SharedAudience(() => {
      this.#session = undefined;
    });
    this.#session = { audience, upstream: open(audience) };
    return this.#session;
  }
}
