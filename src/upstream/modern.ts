/**
 * The upstream session to a modern backend. Modern backends are stateless, so all clients share one: nothing is opened,
 * nothing is kept between requests, and closing it ends nothing.
 */
import { Failure } from '../errors/failure.ts';
import type { Call, CallOutcome, CallRequest, CallSink } from '../exchange/call.ts';
import type { Discovery, UpstreamSession } from '../exchange/upstream-session.ts';
import type { Permit } from '../policy/permit.ts';
import { ambiguousResult } from '../wire/ambiguity.ts';
import { declaresExtension } from '../wire/declared-extensions.ts';
import { extensionOfResult } from '../wire/extensions.ts';
import type { Notification, Request, Response, ResultResponse } from '../wire/message.ts';
import { mirroredHeaders } from '../wire/mirror.ts';
import type { Revision } from '../wire/revisions.ts';
import { idAt, idIn, member, stringAt } from '../wire/values.ts';
import { metaKeys } from '../wire/vocabulary.ts';
import { asFailure } from './as-failure.ts';
import type { BackendOptions } from './backend-options.ts';
import type { BackendNotes, Channel, ChannelSink, HttpFacts } from './channel.ts';
import { codeOf, turnedLegacy, UNSUPPORTED_VERSION } from './codes.ts';
import type { Deadlines, ExceededLimit } from './deadlines.ts';
import { cancelledBytes, type Ids, modernRequest, tracedHeaders } from './envelope.ts';
import { type HealthReporter, replaced } from './health.ts';
import type { Reception } from './reception.ts';
import { type CallHost, RunningCall } from './running.ts';
import type { Slots } from './slots.ts';

/**
 * A server that ends a subscription announces it and then answers the request. If the answer does not follow in this
 * time, the call ends without it.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions#graceful-closure
 */
const TEARDOWN_MS = 5000;

const noHeaders: Readonly<Record<string, string>> = {};

export interface ModernOptions extends Pick<BackendOptions, 'notes' | 'since'> {
  readonly channel: Channel;
  readonly ids: Ids;
  readonly discovery: Discovery;
  /** The session's own: they are its running calls. */
  readonly deadlines: Deadlines<RunningCall>;
  readonly health: HealthReporter;
  readonly slots?: Slots | undefined;
  /** The backend no longer behaves as it was discovered. */
  doubt(): void;
}

export class ModernUpstreamSession implements UpstreamSession, ChannelSink, CallHost {
  readonly era = 'modern';
  /** A modern backend sends no server requests: it answers `input_required`. */
  readonly attributesAsks = true;
  /** The result of the last probe. */
  discovery: Discovery;
  readonly deadlines: Deadlines<RunningCall>;
  readonly notes: BackendNotes;
  readonly health: HealthReporter;
  readonly channel: Channel;
  readonly slots: Slots | undefined;
  readonly ids: Ids;
  readonly doubt: () => void;
  readonly #since: number;
  #closed: Failure | undefined;

  constructor(options: ModernOptions) {
    this.channel = options.channel;
    this.deadlines = options.deadlines;
    this.notes = options.notes;
    this.health = options.health;
    this.slots = options.slots;
    this.ids = options.ids;
    this.discovery = options.discovery;
    this.#since = options.since ?? 0;
    this.doubt = options.doubt;
  }

  get revision(): Revision {
    return this.discovery.revision;
  }

  get isIdle(): boolean {
    return this.deadlines.size === 0;
  }

  call({ holder, generation }: Permit, request: CallRequest, sink: CallSink): Call {
    const call = new ModernCall(this, request, sink, this.ids.next(), holder);
    const { channel, health } = this;
    const down = health.phase === 'closed' ? undefined : health.refusal();
    const refusal = this.#closed ?? (generation < this.#since ? replaced() : down);
    if (refusal !== undefined) {
      call.refuse(refusal);
      return call;
    }
    try {
      const { revision } = this.discovery;
      const bytes = modernRequest(request, call.id, revision, call.trace);
      const headers = channel.streamPerRequest ? tracedHeaders(headersOf(request, revision), call.trace) : noHeaders;
      this.deadlines.watch(call);
      call.start(channel, { bytes, id: call.key, headers, longLived: call.longLived });
    } catch (cause) {
      call.refuse(asFailure(cause));
    }
    return call;
  }

  /** The only client notification of this revision is `cancelled`, and that is `Call.cancel`. */
  notify(): void {
    return;
  }

  /** All clients share the session, so each call is ended by its own caller. */
  close(): void {
    return;
  }

  /** Ends every call, and refuses new ones. */
  shut(failure: Failure): void {
    this.#closed = failure;
    for (const call of this.deadlines.members()) call.fail(failure);
    this.deadlines.close();
  }

  /**
   * In this era, only channels without a stream per request have strays.
   * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#receiving-messages
   */
  stray(message: Notification | Request): Reception {
    try {
      const call = message.kind === 'request' ? undefined : this.#ownerOf(message);
      if (call !== undefined) return call.message(message);
      if (message.kind === 'request') this.notes.odd('forbidden_request', message.method);
      else this.notes.odd('unattributed', message.method);
    } catch (cause) {
      this.notes.odd('fault', `a stray ${message.method}`, cause);
    }
    return 'none';
  }

  /** Calls in flight have failed already. Later calls get a new process, or fail by themselves. */
  lost(): void {
    this.doubt();
  }

  #ownerOf(message: Notification): RunningCall | undefined {
    const span = message.meta && member(message.meta, metaKeys.subscriptionId);
    const subscription = span && idAt(message.bytes, span);
    if (subscription !== undefined) {
      const call = this.deadlines.find(({ key }) => key === subscription.key);
      return call?.longLived === true ? call : undefined;
    }
    switch (message.method) {
      case 'notifications/progress': {
        const token = idIn(message, 'progressToken');
        const call = token && this.deadlines.find(({ key }) => key === token.key);
        return call?.request.progress === true ? call : undefined;
      }
      case 'notifications/cancelled': {
        const id = idIn(message, 'requestId');
        const call = id && this.deadlines.find(({ key }) => key === id.key);
        return call?.longLived === true ? call : undefined;
      }
      case 'notifications/message':
        return this.#onlyLogging();
      default:
        return undefined;
    }
  }

  /** A log message names no request. It goes to the only call that asked for log messages, if there is exactly one. */
  #onlyLogging(): RunningCall | undefined {
    const logging = this.deadlines.members().filter(({ request }) => request.logLevel !== undefined);
    return logging.length === 1 ? logging[0] : undefined;
  }
}

class ModernCall extends RunningCall<ModernUpstreamSession> {
  protected override understand(message: Notification | Request): Reception {
    if (message.kind === 'request') {
      this.host.notes.odd('forbidden_request', message.method);
      return 'none';
    }
    if (message.method !== 'notifications/cancelled') return this.notify(message);
    if (this.longLived) this.endBy = this.host.deadlines.clock.now() + TEARDOWN_MS;
    return 'none';
  }

  protected override judge(message: Response, http: HttpFacts | undefined): CallOutcome {
    if (message.kind === 'error') {
      const code = codeOf(message);
      if (turnedLegacy(code, http?.status)) this.host.doubt();
      // The backend had offered this revision. If the client got this error, it would blame the gateway's revision.
      if (code === UNSUPPORTED_VERSION) return invalid('The backend no longer supports the revision that it declared');
      return { kind: 'error', message, vocabulary: 'modern' };
    }
    const ambiguity = ambiguousResult(message);
    if (ambiguity !== undefined) return invalid(`The backend's response is ambiguous: ${ambiguity}`);
    const type = member(message.result, 'resultType');
    if (type !== undefined) {
      const text = stringAt(message.bytes, type);
      if (text !== 'complete' && text !== 'input_required') return this.#judgeExtension(message, text);
      // https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#supported-requests
      if (text === 'input_required' && this.request.row.mayAsk !== true) {
        return invalid('The backend asked for input in a method that does not allow it');
      }
    }
    return { kind: 'result', message, vocabulary: 'modern' };
  }

  /** Result types of extensions are for clients that have declared the extension with this request. */
  #judgeExtension(message: ResultResponse, type = ''): CallOutcome {
    const { row, client } = this.request;
    const extension = extensionOfResult(type, row.method);
    if (extension === undefined || !declaresExtension(client.capabilities.raw, extension))
      return invalid('The backend sent an unknown resultType');
    return { kind: 'result', message, vocabulary: 'modern', type };
  }

  protected override judgeFailure(failure: Failure, http: HttpFacts | undefined): Failure {
    if (failure.reason === 'backend_unavailable' || turnedLegacy(undefined, http?.status)) this.host.doubt();
    return failure;
  }

  override timedOut(limit: ExceededLimit): void {
    if (this.endBy === undefined) super.timedOut(limit);
    else this.fail(new Failure('backend_unavailable', { message: 'The backend ended the subscription' }));
  }

  /** Over HTTP, closing the stream cancels the request. Other channels need a notification. */
  protected override recall(reason: string | undefined): void {
    const { channel, notes } = this.host;
    if (channel.streamPerRequest) return;
    channel
      .post(cancelledBytes(this.id, reason), noHeaders)
      .catch((cause: unknown) => notes.odd('not_taken', 'notifications/cancelled', cause));
  }
}

function headersOf({ row, message, paramHeaders }: CallRequest, revision: string): Readonly<Record<string, string>> {
  const named = row.mirrored === true && row.name !== undefined ? member(message.params, row.name) : undefined;
  const name = named && stringAt(message.bytes, named);
  const mirrored = mirroredHeaders(row.method, name, revision);
  return paramHeaders === undefined ? mirrored : { ...paramHeaders, ...mirrored };
}

function invalid(message: string): CallOutcome {
  return { kind: 'failure', failure: new Failure('backend_invalid', { message }) };
}
