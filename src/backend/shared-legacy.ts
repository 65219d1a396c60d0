/**
 * `share: true`: one legacy process for everybody, because its owner says that it keeps nothing between calls that one
 * client must not see of another. It is introduced to the first client, and knows of no other: what that one declared is
 * what the backend may ask of anybody. Ids and progress are mapped as ever; notifications outside any call go to all.
 */
import { Failure } from '../errors.ts';
import type { Ask, Call, CallRequest, CallSink } from '../exchange/call.ts';
import type { Discovery, Lane, LaneSink } from '../exchange/lane.ts';
import type { Permit } from '../policy/permit.ts';
import type { Notification } from '../wire/message.ts';

/** Who hears the shared session. */
class Audience implements LaneSink {
  readonly #sinks = new Set<LaneSink>();
  readonly #ended: () => void;

  constructor(ended: () => void) {
    this.#ended = ended;
  }

  add(sink: LaneSink): void {
    this.#sinks.add(sink);
  }

  remove(sink: LaneSink): void {
    this.#sinks.delete(sink);
  }

  notify(notification: Notification): void {
    for (const sink of [...this.#sinks]) sink.notify(notification);
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

class SharedLane implements Lane {
  readonly era = 'legacy';
  readonly attributesAsks: boolean;
  readonly discovery: Discovery;
  readonly #lane: Lane;
  readonly #leave: () => void;

  constructor(lane: Lane, leave: () => void) {
    this.#lane = lane;
    this.#leave = leave;
    this.discovery = lane.discovery;
    this.attributesAsks = lane.attributesAsks;
  }

  call(permit: Permit, request: CallRequest, sink: CallSink): Call {
    return this.#lane.call(permit, request, sink);
  }

  notify(permit: Permit, notification: Notification): void {
    this.#lane.notify(permit, notification);
  }

  /** The others go on. Each call is ended by who began it. */
  close(): void {
    this.#leave();
  }
}

export class SharedLegacy {
  #session: { readonly lane: Promise<Lane>; readonly audience: Audience } | undefined;

  /** `open` is called for the first one, and for the first after the process ended. */
  async join(sink: LaneSink, open: (sink: LaneSink) => Promise<Lane>): Promise<Lane> {
    const session = this.#session ?? this.#begin(open);
    try {
      const lane = await session.lane;
      session.audience.add(sink);
      return new SharedLane(lane, () => session.audience.remove(sink));
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
