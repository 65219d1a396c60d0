/**
 * The upstream session to a legacy backend: opened with `initialize` for one client, or for a group of modern clients
 * that look the same to the backend. It also receives the session's own traffic: server requests and notifications
 * outside of any call.
 */
import type { Limits } from '../config/limits.ts';
import { Failure } from '../errors/failure.ts';
import type { Call, CallRequest, CallSink, ClientFacts } from '../exchange/call.ts';
import type { Trace } from '../exchange/trace.ts';
import type { Discovery, Hearing, UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import type { Permit } from '../policy/permit.ts';
import { mayBeAsked } from '../wire/capabilities.ts';
import { notificationBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { era, type Revision } from '../wire/revisions.ts';
import { asFailure } from './as-failure.ts';
import type { BackendOptions } from './backend-options.ts';
import type { BackendNotes, Channel, ChannelSink } from './channel.ts';
import { type DeadlineLimits, Deadlines } from './deadlines.ts';
import { type Ids, legacyRequest, tracedHeaders, tracedNotification } from './envelope.ts';
import { type Agreement, type AgreementOptions, agreeFor, type HandshakeHeaders } from './handshake.ts';
import { type HealthReporter, replaced } from './health.ts';
import { LegacyCall } from './legacy-call.ts';
import { LegacyMessages } from './legacy-messages.ts';
import type { ProbedChannel } from './probed-channel.ts';
import type { Reception } from './reception.ts';
import type { CallEnding, CallHost, RunningCall } from './running.ts';
import { pingSession } from './session-ping.ts';
import type { Slots } from './slots.ts';
import { type ListRelay, Standalone } from './standalone-state.ts';

/** Shared by all sessions of a backend. */
export interface LegacyOptions extends AgreementOptions, Pick<BackendOptions, 'since'> {
  readonly limits: DeadlineLimits & Pick<Limits, 'asksPerSession'>;
  readonly relay: ListRelay;
  readonly slots?: Slots | undefined;
  /** The session is closed or lost, and its channel is closed. */
  ended(upstream: LegacyUpstreamSession): void;
}

const ownInitialized = notificationBytes('notifications/initialized');

export class LegacyUpstreamSession implements UpstreamSession, ChannelSink, CallHost {
  readonly era = 'legacy';
  /** Sent with everything, once both sides agreed on them. */
  headers: HandshakeHeaders = {};
  revision: Revision | undefined = undefined;
  /** The running calls. */
  readonly deadlines: Deadlines<LegacyCall>;
  readonly notes: BackendNotes;
  readonly health: HealthReporter;
  readonly channel: Channel;
  readonly slots: Slots | undefined;
  readonly messages: LegacyMessages;
  readonly #ids: Ids;
  readonly #options: LegacyOptions;
  readonly #since: number;
  readonly #sink: UpstreamSessionSink;
  readonly standalone: Standalone;
  #agreement: Agreement | undefined;
  /** Calls wait while `initialized` is being sent: over HTTP a call could overtake it. */
  #initializing: Promise<void> | undefined;
  #pinging: Promise<boolean> | undefined;
  #isInitialized = false;
  /** Why nothing can be sent any more. */
  #over: Failure | undefined;
  #ended: Promise<void> | undefined;

  /** Rejects with a Failure, and closes the channel then. */
  static async open(
    probedChannel: ProbedChannel,
    client: ClientFacts,
    sink: UpstreamSessionSink,
    options: LegacyOptions,
  ): Promise<LegacyUpstreamSession> {
    const upstream = new LegacyUpstreamSession(probedChannel, sink, options);
    probedChannel.attach(upstream);
    try {
      await upstream.#initialize(client);
      return upstream;
    } catch (cause) {
      const failure = asFailure(cause);
      // Do not wait for the end: a process may take seconds to exit.
      void upstream.end(failure);
      throw failure;
    }
  }

  /** Takes over a session that is already initialized. */
  static adopt(
    probedChannel: ProbedChannel,
    agreement: Agreement,
    sink: UpstreamSessionSink,
    options: LegacyOptions,
  ): LegacyUpstreamSession {
    const upstream = new LegacyUpstreamSession(probedChannel, sink, options);
    upstream.#agree(agreement);
    probedChannel.attach(upstream);
    return upstream;
  }

  private constructor(probedChannel: ProbedChannel, sink: UpstreamSessionSink, options: LegacyOptions) {
    this.channel = probedChannel.channel;
    this.#ids = probedChannel.ids;
    this.#sink = sink;
    this.#options = options;
    this.#since = options.since ?? 0;
    this.deadlines = new Deadlines(options.limits, options.clock);
    this.notes = options.notes;
    this.health = options.health;
    this.slots = options.slots;
    this.messages = new LegacyMessages(this, sink, options.relay, options.limits.asksPerSession);
    this.standalone = new Standalone(this, sink, options.relay);
  }

  get discovery(): Discovery {
    if (this.#agreement === undefined) throw new TypeError('an upstream session is handed out after its handshake');
    return this.#agreement.discovery;
  }

  get attributesAsks(): boolean {
    return this.channel.streamPerRequest && !this.messages.asksElsewhere;
  }

  get hearing(): Hearing {
    return this.standalone.hearing;
  }

  whenHeard(): Promise<void> {
    return this.#ready(true);
  }

  get isIdle(): boolean {
    return this.deadlines.size === 0;
  }

  keepWhile(wanted: () => boolean): void {
    this.channel.keepWhile?.(wanted);
  }

  /** Sends `initialized`, once: the client's own, or ours where the client sends none. */
  begin(initialized: Uint8Array = ownInitialized): void {
    this.#initializing ??= this.#begin(initialized);
  }

  /** Whether a 404 means that the session is gone: we sent a session id, or the channel itself is the session. */
  get hasSession(): boolean {
    return this.#agreement?.sessionId !== undefined || !this.channel.streamPerRequest;
  }

  call({ holder, generation }: Permit, request: CallRequest, sink: CallSink): Call {
    const call = new LegacyCall(this, request, sink, this.#ids.next(), holder);
    // An open channel is proof enough that the backend is there.
    const isUp = this.health.phase === 'closed' || !this.channel.streamPerRequest;
    const down = isUp ? undefined : this.health.refusal();
    const refusal = this.#over ?? (generation < this.#since ? replaced() : down);
    if (refusal !== undefined) {
      call.refuse(refusal);
      return call;
    }
    this.deadlines.watch(call);
    // The backend must get `initialized` before anything else, whatever the client does.
    if (this.#initializing === undefined) this.begin();
    const mayAsk = request.row.mayAsk === true && mayBeAsked(request.client.capabilities);
    if (this.#isInitialized && (!mayAsk || this.standalone.opening === undefined)) this.#start(call);
    else void this.#ready(mayAsk).then(() => this.#start(call));
    return call;
  }

  async #ready(mayAsk: boolean): Promise<void> {
    await this.#initializing;
    if (mayAsk) await this.standalone.opening;
  }

  #start(call: LegacyCall): void {
    try {
      const { request, id, key, trace } = call;
      const headers = tracedHeaders(this.headers, trace);
      call.start(this.channel, { bytes: legacyRequest(request, id, trace), id: key, headers });
    } catch (cause) {
      call.refuse(asFailure(cause));
    }
  }

  notify({ generation }: Permit, notification: Notification, trace?: Trace): void {
    const { method } = notification;
    // Request ids differ on the two sides, so cancellations come through `Call.cancel`.
    if (generation < this.#since || method === 'notifications/cancelled') return;
    const bytes = tracedNotification(notification, trace && this.notes.tracer?.notification(trace, notification));
    if (method === 'notifications/initialized') this.begin(bytes);
    else this.post(bytes, method);
  }

  close(): void {
    void this.end(new Failure('session_ended'));
  }

  /** Ends calls, server requests, the session and the channel. Resolves when all are gone; never rejects. */
  end(failure: Failure): Promise<void> {
    this.#ended ??= this.#end(failure);
    return this.#ended;
  }

  async #end(failure: Failure): Promise<void> {
    const gone = this.#over !== undefined;
    this.#finish(failure);
    try {
      if (!gone && this.hasSession) await this.channel.forget?.(this.headers);
      await this.channel.close();
    } catch (cause) {
      this.notes.odd('not_taken', 'the end of a session', cause);
    }
    this.#options.ended(this);
  }

  /** Fails everything that is open, and sends nothing from here on. */
  #finish(failure: Failure): void {
    this.messages.close();
    this.standalone.close();
    for (const call of this.deadlines.members()) call.fail(failure);
    this.deadlines.close();
    this.#over ??= failure;
  }

  /** Sends a notification or a response. */
  post(message: Uint8Array, what: string): void {
    void this.#deliver(message, what);
  }

  /** Whether the backend accepted the message. Never rejects. */
  async #deliver(message: Uint8Array, what: string): Promise<boolean> {
    if (this.#over !== undefined) return false;
    try {
      await this.channel.post(message, this.headers);
      return true;
    } catch (cause) {
      if (cause instanceof Failure && cause.reason === 'backend_session_lost' && this.hasSession) this.lost(cause);
      else this.notes.odd('not_taken', what, cause);
      return false;
    }
  }

  askerEnded(call: RunningCall, how: CallEnding): void {
    this.messages.callEnded(call, how);
  }

  /** The process ended, or the backend no longer knows the session. */
  lost(failure: Failure): void {
    if (this.#over !== undefined) return;
    const opened = this.#agreement !== undefined;
    this.#over = failure;
    this.#finish(failure);
    void this.end(failure);
    if (!opened) return;
    try {
      this.#sink.lost(failure);
    } catch (cause) {
      this.notes.odd('fault', 'a lost session', cause);
    }
  }

  /** After a request in this session got 400: whether the backend still knows the session. */
  isKnown(): Promise<boolean> {
    this.#pinging ??= pingSession(this, this.#ids.next(), this.#options.clock).finally(() => {
      this.#pinging = undefined;
    });
    return this.#pinging;
  }

  stray(message: Notification | Request): Reception {
    if (this.#over !== undefined) return 'none';
    return this.messages.stray(message);
  }

  async #initialize(client: ClientFacts): Promise<void> {
    const agreement = await agreeFor(client, this.channel, this.#ids, this.#options, (message) => this.stray(message));
    if (this.#over !== undefined) throw this.#over;
    this.#agree(agreement);
    this.messages.forModern = era(client.revision) === 'modern';
    // Modern clients do not send `initialized`; legacy clients send it themselves.
    if (this.messages.forModern) this.begin();
  }

  #agree(agreement: Agreement): void {
    this.#agreement = agreement;
    this.headers = agreement.headers;
    this.revision = agreement.discovery.revision;
  }

  async #begin(initialized: Uint8Array): Promise<void> {
    const taken = await this.#deliver(initialized, 'notifications/initialized');
    this.#isInitialized = true;
    if (!taken || this.#over !== undefined) return;
    this.standalone.open(this.#options.clock);
  }
}
