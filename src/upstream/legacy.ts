/**
 * The lane to a legacy backend: one upstream session, opened with `initialize` for one client (or for one group of modern
 * clients that are the same to the backend). The session's own traffic, asks and notifications outside any call, is heard here.
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
import {
  type Agreement,
  askInitialize,
  bearWitness,
  type HandshakeHeaders,
  readAgreement,
  revisionFor,
} from './handshake.ts';
import { type HealthReporter, replaced } from './health.ts';
import type { Ids } from './ids.ts';
import { LegacyCall } from './legacy-call.ts';
import type { ListRelay } from './list-relay.ts';
import type { BackendNotes } from './notes.ts';
import { OpenServerRequests } from './open-server-requests.ts';
import type { ProbedChannel } from './probed-channel.ts';
import type { CallEnding, CallHost, RunningCall } from './running.ts';
import type { Slots } from './slots.ts';
import { Standalone } from './standalone-state.ts';

export interface LegacyLimits {
  /** How long `initialize` may take: the process may have to be unpacked first. */
  readonly firstByteMs: number;
  readonly asksPerSession: number;
}

export interface LegacyOptions {
  readonly deadlines: Deadlines;
  readonly clock: TimerClock;
  readonly limits: LegacyLimits;
  readonly notes: BackendNotes;
  /** Who we are, for clients that do not say who they are: a raw `Implementation`. */
  readonly self: Raw;
  /** Which may be spoken; absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
  readonly health: HealthReporter;
  readonly relay: ListRelay;
  readonly slots?: Slots | undefined;
  /** The config that brought the backend: no older permit is good for it. */
  readonly since?: number | undefined;
  /** The lane is closed or lost, and its channel is gone. */
  ended(upstream: LegacyUpstreamSession): void;
}

/** A GET is answered in a round trip, a few where the connection is new. Calls go ahead without a stream that needs longer. */
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
  /** While `initialized` is on its way, calls wait: over HTTP one could overtake it. */
  #initializing: Promise<void> | undefined;
  /** While the standalone stream is being opened, calls that may ask wait: what is said there before is heard by nobody. */
  #listening: Promise<void> | undefined;
  /** Why nothing can be sent any more. */
  #over: Failure | undefined;
  #ended: Promise<void> | undefined;
  /** Introduced for a modern client: it has a level for each request, and hears nothing outside of them. */
  #forModern = false;
  /** A question came outside the stream of the call that it can have belonged to. */
  #asksElsewhere = false;

  /** Rejects with a Failure, and ends the line then. */
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
      // Nobody waits for that: a process may take seconds to go.
      void upstream.end(failure);
      throw failure;
    }
  }

  /** Goes on with a session that was opened already. */
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

  /** The gateway is itself the client, and is ready. */
  begin(): void {
    this.#sendInitialized(ownInitialized);
  }

  get headers(): HandshakeHeaders {
    return this.#agreement?.headers ?? {};
  }

  /** Whether a 404 means that the session is gone: one was named, or the channel is one by itself. */
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
    // Whatever the client does, the backend hears that it is initialized before it hears of anything else.
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

  /** A channel that stands is proof enough that the backend is there. */
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
      // Ids differ on the two sides: a cancellation comes through `Call.cancel`.
      case 'notifications/cancelled':
        return;
      default:
        this.post(forwarded(notification), notification.method);
    }
  }

  close(): void {
    void this.end(new Failure('session_ended'));
  }

  /** Ends calls, asks, the session and the channel. Resolves when they are gone; never rejects. */
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

  /** From here on nothing is sent, and nobody waits. */
  #finish(failure: Failure): void {
    this.#asks.close();
    this.#standalone.close();
    for (const call of [...this.#calls.values()]) call.fail(failure);
    this.#over ??= failure;
  }

  /** A notification, or an answer. */
  post(message: Uint8Array, what: string): void {
    void this.#deliver(message, what);
  }

  /** Whether the backend took it. Never rejects. */
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

  /** The process ended, or the backend forgot the session. */
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

  /** What the backend did not say in this session, and would have. */
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

  /** A request of the backend, on the stream of `call` or on none. */
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
    const ambiguity = ambiguousQuestion(message);
    if (ambiguity !== undefined) {
      const failure = new Failure('ambiguous_json', { message: ambiguity });
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
    // A call may ask a person some questions, not thousands: they count although they belong to it.
    return 'session';
  }

  /** `notifications/cancelled` of the backend: it takes back a question of its own. */
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
   * A log message names no request. To modern clients it belongs to one or does not come: where one call alone is running it is
   * that one's. A session of a legacy client hears it as such.
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
   * Outside a request's stream nothing says which call a question belongs to. Where one call alone can have caused it, it
   * did: servers ask on their standalone stream from within a tool, too.
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
    bearWitness(answer, began, this.health);
    const agreement = readAgreement(answer, revisions);
    if (this.#over !== undefined) throw this.#over;
    this.#agreement = agreement;
    this.#forModern = era(client.revision) === 'modern';
    // A modern client knows nothing of it; a legacy one says itself when it is ready.
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

  /** Until the standalone stream stands, or is not to be had. Servers that send no headers before their first event exist. */
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
