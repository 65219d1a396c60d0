/**
 * The upstream session to a legacy backend: opened with `initialize` for one client, or for a group of modern clients
 * that look the same to the backend. It also receives the session's own traffic: server requests and notifications
 * outside of any call.
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallRequest, CallSink, ClientFacts } from '../exchange/call.ts';
import type { Discovery, Hearing, UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import { within } from '../exchange/within.ts';
import type { Permit } from '../policy/permit.ts';
import { mayBeAsked } from '../wire/capabilities.ts';
import { errorBytes, failureBytes, forwarded, notificationBytes, type Raw, resultBytes } from '../wire/compose.ts';
import type { Notification, Request } from '../wire/message.ts';
import { methodRow } from '../wire/methods.ts';
import { ambiguousQuestion } from '../wire/questions.ts';
import { era, type Revision } from '../wire/revisions.ts';
import { changedList } from '../wire/subscription-filter.ts';
import { idIn } from '../wire/values.ts';
import { VIA, writeVia } from '../wire/via.ts';
import { asFailure } from './as-failure.ts';
import type { Channel, ChannelSink, Reception } from './channel.ts';
import { METHOD_NOT_FOUND } from './codes.ts';
import type { Deadlines, TimerClock } from './deadlines.ts';
import { capabilitiesText, legacyRequest } from './envelope.ts';
import type { BackendNotes } from './events.ts';
import {
  type Agreement,
  askInitialize,
  type HandshakeHeaders,
  readAgreement,
  reportHealth,
  revisionFor,
} from './handshake.ts';
import { type HealthReporter, replaced } from './health.ts';
import type { Ids } from './ids.ts';
import { LegacyCall } from './legacy-call.ts';
import type { ListRelay } from './list-relay.ts';
import { OpenServerRequests } from './open-server-requests.ts';
import type { ProbedChannel } from './probed-channel.ts';
import type { CallEnding, CallHost, RunningCall } from './running.ts';
import type { Slots } from './slots.ts';
import { Standalone } from './standalone-state.ts';

export interface LegacyLimits {
  /** Time limit of `initialize`: the process may have to be unpacked first. */
  readonly firstByteMs: number;
  readonly asksPerSession: number;
}

export interface LegacyOptions {
  readonly deadlines: Deadlines;
  readonly clock: TimerClock;
  readonly limits: LegacyLimits;
  readonly notes: BackendNotes;
  /** The gateway's own `Implementation` (raw), for clients that do not identify themselves. */
  readonly self: Raw;
  /** Revisions that may be used. Absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
  readonly health: HealthReporter;
  readonly relay: ListRelay;
  readonly slots?: Slots | undefined;
  /** Generation of the config that created the backend. Permits of older generations are refused. */
  readonly since?: number | undefined;
  /** The session is closed or lost, and its channel is closed. */
  ended(upstream: LegacyUpstreamSession): void;
}

/**
 * A GET is answered within a round trip, or a few on a new connection. If the stream takes longer, calls start without
 * it.
 */
const LISTEN_MS = 200;

const ownInitialized = notificationBytes('notifications/initialized');

export class LegacyUpstreamSession implements UpstreamSession, ChannelSink, CallHost {
  readonly era = 'legacy';
  readonly deadlines: Deadlines;
  readonly notes: BackendNotes;
  readonly health: HealthReporter;
  readonly channel: Channel;
  readonly slots: Slots | undefined;
  readonly #ids: Ids;
  readonly #options: LegacyOptions;
  readonly #since: number;
  readonly #sink: UpstreamSessionSink;
  readonly #calls = new Map<string, LegacyCall>();
  readonly #asks: OpenServerRequests;
  readonly #standalone: Standalone;
  #agreement: Agreement | undefined;
  #initialized = false;
  /** Calls wait while `initialized` is being sent: over HTTP a call could overtake it. */
  #initializing: Promise<void> | undefined;
  /**
   * Calls that may cause server requests wait while the standalone stream is opened: earlier messages on it would be
   * lost.
   */
  #listening: Promise<void> | undefined;
  /** Why nothing can be sent any more. */
  #over: Failure | undefined;
  #ended: Promise<void> | undefined;
  /** Opened for a modern client: log levels are per request, and nothing outside of requests reaches it. */
  #forModern = false;
  /** A server request arrived outside the stream of the call that may have caused it. */
  #asksElsewhere = false;

  /** Rejects with a Failure, and closes the channel then. */
  static async open(
    line: ProbedChannel,
    client: ClientFacts,
    sink: UpstreamSessionSink,
    options: LegacyOptions,
  ): Promise<LegacyUpstreamSession> {
    const upstream = new LegacyUpstreamSession(line, sink, options);
    line.attach(upstream);
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
    line: ProbedChannel,
    agreement: Agreement,
    sink: UpstreamSessionSink,
    options: LegacyOptions,
  ): LegacyUpstreamSession {
    const upstream = new LegacyUpstreamSession(line, sink, options);
    upstream.#agreement = agreement;
    line.attach(upstream);
    return upstream;
  }

  private constructor(line: ProbedChannel, sink: UpstreamSessionSink, options: LegacyOptions) {
    this.channel = line.channel;
    this.#ids = line.ids;
    this.#sink = sink;
    this.#options = options;
    this.#since = options.since ?? 0;
    this.deadlines = options.deadlines;
    this.notes = options.notes;
    this.health = options.health;
    this.slots = options.slots;
    this.#asks = new OpenServerRequests({
      asksPerSession: options.limits.asksPerSession,
      notes: options.notes,
      send: (answer) => this.post(answer, 'an answer'),
      orphaned: (ask) => sink.ask(ask),
    });
    this.#standalone = new Standalone({
      capabilities: () => this.discovery.capabilities,
      notify: (notification) => this.#unasked(notification),
      silenced: (failure) => this.#silenced(failure),
      relay: options.relay,
    });
  }

  get discovery(): Discovery {
    if (this.#agreement === undefined) throw new TypeError('a lane is handed out after its handshake');
    return this.#agreement.discovery;
  }

  get attributesAsks(): boolean {
    return this.channel.streamPerRequest && !this.#asksElsewhere;
  }

  get hearing(): Hearing {
    return this.#standalone.hearing;
  }

  whenHeard(): Promise<void> {
    return this.#ready(true);
  }

  get isIdle(): boolean {
    return this.#calls.size === 0;
  }

  keepWhile(wanted: () => boolean): void {
    this.channel.keepWhile?.(wanted);
  }

  /** Sends `initialized` where the gateway itself is the client. */
  begin(): void {
    this.#sendInitialized(ownInitialized);
  }

  get headers(): HandshakeHeaders {
    return this.#agreement?.headers ?? {};
  }

  /** Whether a 404 means that the session is gone: we sent a session id, or the channel itself is the session. */
  get hasSession(): boolean {
    return this.#agreement?.sessionId !== undefined || !this.channel.streamPerRequest;
  }

  call({ holder, generation }: Permit, request: CallRequest, sink: CallSink): Call {
    const id = this.#ids.next();
    const call = new LegacyCall(this, request, sink, id, holder);
    const refusal = this.#over ?? (generation < this.#since ? replaced() : this.#refusal());
    if (refusal !== undefined) {
      call.refuse(refusal);
      return call;
    }
    this.#calls.set(call.key, call);
    // The backend must get `initialized` before anything else, whatever the client does.
    this.#sendInitialized(ownInitialized);
    const mayAsk = request.row.mayAsk === true && mayBeAsked(request.client.capabilities);
    if (this.#initializing === undefined && (!mayAsk || this.#listening === undefined)) this.#start(call);
    else void this.#ready(mayAsk).then(() => this.#start(call));
    return call;
  }

  async #ready(mayAsk: boolean): Promise<void> {
    await this.#initializing;
    if (mayAsk) await this.#listening;
  }

  /** An open channel is proof enough that the backend is there. */
  #refusal(): Failure | undefined {
    return this.channel.streamPerRequest ? this.health.refusal() : undefined;
  }

  #start(call: LegacyCall): void {
    try {
      call.start(this.channel, {
        bytes: legacyRequest(call.request, call.id),
        id: call.key,
        headers: this.headers,
      });
    } catch (cause) {
      call.refuse(asFailure(cause));
    }
  }

  notify({ generation }: Permit, notification: Notification): void {
    if (generation < this.#since) return;
    switch (notification.method) {
      case 'notifications/initialized':
        this.#sendInitialized(forwarded(notification));
        return;
      // Request ids differ on the two sides, so cancellations come through `Call.cancel`.
      case 'notifications/cancelled':
        return;
      default:
        this.post(forwarded(notification), notification.method);
    }
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
      if (!gone && this.hasSession) await this.channel.forget(this.headers);
      await this.channel.close();
    } catch (cause) {
      this.notes.odd('not_taken', 'the end of a session', cause);
    }
    this.#options.ended(this);
  }

  /** Fails everything that is open, and sends nothing from here on. */
  #finish(failure: Failure): void {
    this.#asks.close();
    this.#standalone.close();
    for (const call of [...this.#calls.values()]) call.fail(failure);
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

  done(request: CallRequest): void {
    this.#standalone.subscribed(request);
  }

  gone(call: RunningCall, how: CallEnding): void {
    this.#calls.delete(call.key);
    this.#asks.callEnded(call, how);
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

  #silenced(failure: Failure): void {
    if (this.#over !== undefined) return;
    try {
      this.#sink.silenced?.(failure);
    } catch (cause) {
      this.notes.odd('fault', 'a lost stream', cause);
    }
  }

  /** Passes on a notification that this session would have got if its standalone stream had been open. */
  #unasked(notification: Notification): void {
    if (this.#over !== undefined) return;
    try {
      this.#sink.notify(notification);
    } catch (cause) {
      this.notes.odd('fault', notification.method, cause);
    }
  }

  stray(message: Notification | Request): Reception {
    if (this.#over !== undefined) return 'none';
    try {
      return message.kind === 'request' ? this.asked(message, undefined) : this.#strayed(message);
    } catch (cause) {
      this.notes.odd('fault', `a stray ${message.method}`, cause);
      return 'none';
    }
  }

  /** Handles a server request that came on the stream of `call`, or on no call's stream. */
  asked(message: Request, call: LegacyCall | undefined): Reception {
    if (message.method === 'ping') {
      this.post(resultBytes(message.id.raw, '{}'), 'an answer');
      return 'none';
    }
    const row = methodRow(message.method);
    if (row?.action !== 'ask') {
      const error = { code: METHOD_NOT_FOUND, message: 'Method not found' };
      this.post(errorBytes(message.id.raw, error), 'an answer');
      return 'none';
    }
    const failure = refusedQuestion(message);
    if (failure !== undefined) {
      this.post(failureBytes(failure, 'legacy', message.id.raw), 'an answer');
      return 'session';
    }
    if (call === undefined && this.#mayBeAsking()) this.#asksElsewhere = true;
    const owner = call ?? this.#onlyAsker();
    this.#asks.put(message, row, {
      call: owner,
      guessed: call === undefined,
      put: (ask) => (owner === undefined ? this.#sink.ask(ask) : owner.sink.ask(ask)),
    });
    // Server requests count against the session's budget even within a call: a person can answer some, not thousands.
    return 'session';
  }

  /** `notifications/cancelled` from the backend: it withdraws a server request. */
  withdrew(message: Notification): void {
    const id = idIn(message, 'requestId');
    if (id !== undefined) this.#asks.withdraw(id.key);
  }

  #strayed(message: Notification): Reception {
    if (message.method === 'notifications/cancelled') {
      this.withdrew(message);
      return 'none';
    }
    if (message.method === 'notifications/message') return this.#logged(message);
    if (message.method !== 'notifications/progress') {
      if (changedList(message.method) !== undefined) this.#options.relay.told(message);
      this.#sink.notify(message);
      return 'session';
    }
    const token = idIn(message, 'progressToken');
    const call = token && this.#calls.get(token.key);
    if (call?.request.progress === true) return call.message(message);
    this.notes.odd('unattributed', message.method);
    return 'none';
  }

  /**
   * A log message names no request. A modern client gets it only as part of a request: where exactly one call is
   * running, it belongs to that call. A legacy client gets it on its session.
   */
  #logged(message: Notification): Reception {
    const [only, ...others] = this.#calls.values();
    if (only !== undefined && others.length === 0 && era(only.request.client.revision) === 'modern') {
      return only.message(message);
    }
    if (this.#forModern) this.notes.odd('unattributed', message.method);
    this.#sink.notify(message);
    return only === undefined ? 'none' : 'call';
  }

  #mayBeAsking(): boolean {
    for (const call of this.#calls.values()) if (call.request.row.mayAsk === true) return true;
    return false;
  }

  /**
   * Outside of a request's stream nothing says which call a server request belongs to. Where only one call can have
   * caused it, it belongs to that one: some servers use their standalone stream even from within a tool.
   */
  #onlyAsker(): LegacyCall | undefined {
    let only: LegacyCall | undefined;
    for (const call of this.#calls.values()) {
      if (call.request.row.mayAsk !== true) continue;
      if (only !== undefined) return undefined;
      only = call;
    }
    return only;
  }

  async #initialize(client: ClientFacts): Promise<void> {
    const { self, clock, limits, revisions } = this.#options;
    const introduction = {
      revision: revisionFor(client.revision, revisions),
      info: client.info ?? self,
      capabilities: capabilitiesText(client.capabilities.raw),
      ...(client.via && { headers: { [VIA]: writeVia(client.via) } }),
    };
    const question = askInitialize(this.channel, this.#ids, introduction, (message) => this.stray(message));
    const began = clock.now();
    const answer = await question.within(limits.firstByteMs, clock);
    question.drop();
    reportHealth(answer, began, this.health);
    const agreement = readAgreement(answer, revisions);
    if (this.#over !== undefined) throw this.#over;
    this.#agreement = agreement;
    this.#forModern = era(client.revision) === 'modern';
    // Modern clients do not send `initialized`; legacy clients send it themselves.
    if (this.#forModern) this.#sendInitialized(ownInitialized);
  }

  #sendInitialized(bytes: Uint8Array): void {
    if (this.#initialized) return;
    this.#initialized = true;
    this.#initializing = this.#beginListening(bytes);
  }

  async #beginListening(bytes: Uint8Array): Promise<void> {
    const taken = await this.#deliver(bytes, 'notifications/initialized');
    this.#initializing = undefined;
    if (!taken || this.#over !== undefined) return;
    this.#listening = this.#listen();
  }

  /**
   * Waits until the standalone stream is open or unavailable, within `LISTEN_MS`: some servers send no headers before
   * their first event.
   */
  async #listen(): Promise<void> {
    try {
      await within(
        this.#options.clock,
        LISTEN_MS,
        this.channel.listen(this.headers, this.#standalone),
        () => undefined,
      );
    } catch (cause) {
      this.notes.odd('fault', 'a standing stream', cause);
    }
    this.#listening = undefined;
  }
}

/** Why a server request cannot be judged: it is ambiguous, or too large to be read. */
function refusedQuestion(message: Request): Failure | undefined {
  try {
    const ambiguity = ambiguousQuestion(message);
    return ambiguity === undefined ? undefined : new Failure('ambiguous_json', { message: ambiguity });
  } catch (error) {
    return asFailure(error);
  }
}
