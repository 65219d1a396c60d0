/**
 * `share: true`: one legacy process for everybody, because its owner says that it keeps nothing between calls that one
 * client must not see of another. It is introduced to the first client, and knows of no other: what that one declared is
 * what the backend may ask of anybody. Ids and progress are mapped as ever; changes of resources go to those who subscribed
 * to them, and other notifications outside any call to all.
 */
import { Failure } from '../errors.ts';
import type { Ask, Call, CallRequest, CallSink } from '../exchange/call.ts';
import type { Discovery, Lane, LaneSink } from '../exchange/lane.ts';
import { callOnce, ownRequest } from '../exchange/own-call.ts';
import type { Permit } from '../policy/permit.ts';
import { resultBytes } from '../wire/compose.ts';
import type { Notification, ResultResponse } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import { member, stringAt } from '../wire/values.ts';
import { SharedSubscriptions } from './shared-subscriptions.ts';

/** Who hears the shared session. */
class Audience implements LaneSink {
  readonly subscriptions = new SharedSubscriptions<LaneSink>();
  readonly #sinks = new Set<LaneSink>();
  readonly #ended: () => void;

  constructor(ended: () => void) {
    this.#ended = ended;
  }

  add(sink: LaneSink): void {
    this.#sinks.add(sink);
  }

  /** Subscriptions that nobody has any more. */
  leave(sink: LaneSink): readonly string[] {
    this.#sinks.delete(sink);
    return this.subscriptions.leave(sink);
  }

  notify(notification: Notification): void {
    for (const sink of [...this.#sinks]) if (this.subscriptions.concerns(notification, sink)) sink.notify(notification);
  }

  /** A question outside any call is put to the only client there is, or to nobody: it is not one client's to answer for another. */
  ask(ask: Ask): void {
    const [first, ...others] = this.#sinks;
    if (first !== undefined && others.length === 0) first.ask(ask);
    else ask.answer({ failure: new Failure('ask_not_supported') });
  }

  lost(failure: Failure): void {
    this.#ended();
    const sinks = [...this.#sinks];
    this.#sinks.clear();
    for (const sink of sinks) sink.lost(failure);
  }
}

/** The answer to a client that takes back what others still want. */
const taken = skimMessage(resultBytes('1', '{}')) as ResultResponse;

class SharedLane implements Lane {
  readonly era = 'legacy';
  readonly attributesAsks: boolean;
  readonly discovery: Discovery;
  readonly #lane: Lane;
  readonly #audience: Audience;
  readonly #client: LaneSink;
  /** Under which the client subscribed. */
  readonly #permits = new Map<string, Permit>();

  constructor(lane: Lane, audience: Audience, client: LaneSink) {
    this.#lane = lane;
    this.#audience = audience;
    this.#client = client;
    this.discovery = lane.discovery;
    this.attributesAsks = lane.attributesAsks;
  }

  call(permit: Permit, request: CallRequest, sink: CallSink): Call {
    const { bytes, params } = request.message;
    const span = member(params, 'uri');
    const uri = span && stringAt(bytes, span);
    if (uri !== undefined && request.row.method === 'resources/subscribe')
      return this.#subscribe(uri, permit, request, sink);
    if (uri !== undefined && request.row.method === 'resources/unsubscribe') {
      this.#permits.delete(uri);
      if (!this.#audience.subscriptions.remove(uri, this.#client)) return answer(taken, sink);
    }
    return this.#lane.call(permit, request, sink);
  }

  notify(permit: Permit, notification: Notification): void {
    this.#lane.notify(permit, notification);
  }

  /** The others go on. Each call is ended by who began it. */
  close(): void {
    for (const uri of this.#audience.leave(this.#client)) {
      const permit = this.#permits.get(uri);
      if (permit === undefined) continue;
      // Whether the backend agrees changes nothing for anybody here.
      callOnce((sink) => this.#lane.call(permit, ownRequest('resources/unsubscribe', { uri }), sink)).catch(
        () => undefined,
      );
    }
  }

  #subscribe(uri: string, permit: Permit, request: CallRequest, sink: CallSink): Call {
    const { subscriptions } = this.#audience;
    // Not after the answer: the first change may come with it.
    const isNew = subscriptions.add(uri, this.#client);
    this.#permits.set(uri, permit);
    return this.#lane.call(permit, request, {
      notify: (notification) => sink.notify(notification),
      ask: (ask) => sink.ask(ask),
      pause: (retryMs) => sink.pause(retryMs),
      settle: (outcome) => {
        if (outcome.kind !== 'result' && isNew) subscriptions.remove(uri, this.#client);
        sink.settle(outcome);
      },
    });
  }
}

function answer(message: ResultResponse, sink: CallSink): Call {
  let wanted = true;
  // Whoever called has not got the call yet.
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
  #session: { readonly lane: Promise<Lane>; readonly audience: Audience } | undefined;

  /** `open` is called for the first one, and for the first after the process ended. */
  async join(sink: LaneSink, open: (sink: LaneSink) => Promise<Lane>): Promise<Lane> {
    const session = this.#session ?? this.#begin(open);
    try {
      const lane = await session.lane;
      session.audience.add(sink);
      return new SharedLane(lane, session.audience, sink);
    } catch (cause) {
      if (this.#session === session) this.#session = undefined;
      throw cause;
    }
  }

  #begin(open: (sink: LaneSink) => Promise<Lane>): { readonly lane: Promise<Lane>; readonly audience: Audience } {
    const audience = new Audience(() => {
      this.#session = undefined;
    });
    this.#session = { audience, lane: open(audience) };
    return this.#session;
  }
}
