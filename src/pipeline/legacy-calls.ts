/** The call stage for a request of a legacy session. */
import { LegacyResponder } from '../bridge/legacy-responder.ts';
import type { CallStarter } from '../bridge/responder.ts';
import { isMerged } from '../catalog/name-resolver.ts';
import type { ResolvedTarget } from '../catalog/resolved-target.ts';
import { Failure } from '../errors/failure.ts';
import type { Call, CallRequest, CallSink, ServerRequest } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Permit } from '../policy/permit.ts';
import type { Session } from '../session/session.ts';
import { PooledCall } from '../upstream/pooled-call.ts';
import type { UpstreamLease } from '../upstream/upstream-pool.ts';
import type { Raw } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import { offers } from '../wire/methods.ts';
import { hasCoreTasks, isOfTask } from '../wire/tasks.ts';
import { member, slice, textMember } from '../wire/values.ts';
import { unknownMethod } from './admit.ts';
import type { RequestContext } from './context.ts';
import { type EraCalls, type FoundUpstream, InterceptedCall } from './interceptors/compose.ts';
import { toldWithPage } from './interceptors/consent.ts';
import { waitingForTask } from './interceptors/task-wait.ts';
import { emulateLegacy } from './legacy-emulation.ts';
import { ownCall } from './merged.ts';
import type { SharedServices, StageServices } from './services.ts';
import type { SessionUpstreams } from './session-upstreams.ts';

const OPEN_BRACE = 0x7b;

export class LegacyCalls implements EraCalls {
  readonly shared: SharedServices;
  readonly sessionUpstreams: SessionUpstreams;

  constructor({ shared, sessionUpstreams }: StageServices) {
    this.shared = shared;
    this.sessionUpstreams = sessionUpstreams;
  }

  /** The request is authorized, and its exchange is open. */
  begin(context: RequestContext, session: Session): void | Promise<void> {
    const { exchange, row, target } = context;
    if (target !== undefined) return this.#callBackend(context, session, target);
    if (row.method === 'ping') exchange.respondResult('{}');
    else if (row.method === 'logging/setLevel') this.sessionUpstreams.setLevels(session, exchange);
    else this.answer(context, session, ownCall(this, context));
  }

  /** Answers in the place of backends. */
  answer(context: RequestContext, session: Session, calls: CallStarter): void {
    this.#respond(context, session, calls, undefined, true);
  }

  #callBackend(context: RequestContext, session: Session, target: ResolvedTarget): void | Promise<void> {
    const { exchange } = context;
    const { backend } = target;
    rememberSubscription(session, exchange, target);
    exchange.onOver(this.shared.backendInFlight.enter(backend, exchange));
    const upstream = this.sessionUpstreams.openUpstream(session, backend);
    if (upstream === undefined) return this.#findUpstream(context, session);
    this.#callOn(context, session, upstream);
  }

  async #findUpstream(context: RequestContext, session: Session): Promise<void> {
    const { row, resolved, authorization } = context;
    const upstream = await this.sessionUpstreams
      .upstreamFor(session, resolved.backend, authorization.permit, row)
      .catch((error: unknown) => this.#withoutUpstream(context, session, error));
    if (upstream !== undefined) this.#callOn(context, session, upstream);
  }

  #callOn(context: RequestContext, session: Session, upstream: UpstreamLease): void {
    const { row, exchange, resolved } = context;
    if (!offers(upstream.discovery, row)) exchange.fail(unknownMethod(resolved.message, 'legacy'));
    if (exchange.settled || emulateLegacy(this.shared, session, context, upstream)) {
      upstream.release?.();
      return;
    }
    const paramHeaders = this.#paramHeaders(context, upstream);
    const tasks = upstream.discovery.coreTasks !== undefined;
    this.#respond(context, session, new InterceptedCall(this, context, upstream), paramHeaders, tasks);
  }

  /** The backend demands a person's consent before it can be reached at all: ask for consent, then make the call. */
  #withoutUpstream(context: RequestContext, session: Session, error: unknown): undefined {
    const failure = this.shared.fault(error);
    if (context.exchange.settled) return;
    if (context.generation.consenting === undefined || failure.reason !== 'consent_needed') throw toldWithPage(failure);
    this.#respond(context, session, new InterceptedCall(this, context, undefined), undefined, false);
  }

  #respond(
    { exchange, call }: RequestContext,
    session: Session,
    calls: CallStarter,
    paramHeaders: ParamHeaders | undefined,
    tasks: boolean,
  ): void {
    const { limits, fault, warn } = this.shared;
    new LegacyResponder(
      { session, limits, fault, warn, paramHeaders, runsTasks: tasks },
      exchange,
      call,
      calls,
    ).begin();
  }

  /** Behind a merged endpoint notifications of a backend are translated into the client's names. */
  translate(context: RequestContext, notification: Notification): Notification | undefined {
    const { session, endpoint, resolved, row, exchange } = context;
    const said =
      session && isOfTask(notification) ? session.tasks.translate(resolved.backend, notification) : notification;
    if (said === undefined) return undefined;
    if (row.name === 'taskId' && said.method === 'notifications/progress') {
      const progress = session?.tasks.progress(resolved.backend, said);
      if (progress === undefined) return said;
      // Under the token of the call that made the task: the responder knows only that of this request.
      exchange.send(progress.message, 'progress', progress.key);
      return undefined;
    }
    const links = session && isMerged(endpoint) ? this.sessionUpstreams.linksOf(session) : undefined;
    return links === undefined ? said : links.translate(resolved.backend, said);
  }

  named({ session, resolved }: RequestContext, ask: ServerRequest): ServerRequest {
    return session === undefined ? ask : session.named(resolved.backend, ask);
  }

  async find(context: RequestContext, permit: Permit, request: CallRequest): Promise<FoundUpstream> {
    const { row, resolved } = context;
    const upstream = await this.sessionUpstreams.upstreamFor(sessionOf(context), resolved.backend, permit, row);
    try {
      if (!offers(upstream.discovery, row)) throw unknownMethod(resolved.message, 'legacy');
      const paramHeaders = await this.#paramHeaders(context, upstream)?.(false);
      return { upstream, request: paramHeaders === undefined ? request : { ...request, paramHeaders } };
    } catch (error) {
      upstream.release?.();
      throw error;
    }
  }

  #paramHeaders({ principal, resolved, row }: RequestContext, upstream: UpstreamLease): ParamHeaders | undefined {
    if (upstream.era !== 'modern' || row.method !== 'tools/call') return undefined;
    const { toolHeaders } = this.shared;
    const { backend, message } = resolved;
    return (again) => toolHeaders.valuesFor({ backend, principal, upstream }, message, again);
  }

  callOn(context: RequestContext, upstream: UpstreamLease, permit: Permit, request: CallRequest, sink: CallSink): Call {
    // Few backends run tasks: nothing more is entered for the others.
    const runsNone = upstream.discovery.coreTasks === undefined || context.row.method !== 'tools/call';
    if (runsNone && !isMerged(context.endpoint)) return upstream.call(permit, request, sink);
    if (runsNone) return this.#startOn(context, upstream, permit, request, sink);
    const start = (own: CallRequest, to: CallSink) => this.#startOn(context, upstream, permit, own, to);
    const task = taskFor(context);
    if (task === undefined) return waitingForTask(this, context, { upstream, start }, request, sink);
    context.call = { ...request, task };
    return start(context.call, sink);
  }

  #startOn(
    context: RequestContext,
    upstream: UpstreamLease,
    permit: Permit,
    request: CallRequest,
    sink: CallSink,
  ): Call {
    const { endpoint, resolved } = context;
    if (!isMerged(endpoint)) return upstream.call(permit, request, sink);
    const opened = (on: UpstreamLease) => ({ upstream: on, level: undefined, release: () => on.release?.() });
    // With several backends, losing one upstream session does not end the client's session: it is opened again.
    const reopen = async () => {
      // The session learns of the loss only after the call has failed, and would return the lost upstream session until
      // then.
      await undefined;
      const { backend } = resolved;
      return opened(await this.sessionUpstreams.upstreamFor(sessionOf(context), backend, permit, request.row));
    };
    return new PooledCall(request, withoutSessionLoss(sink), permit, reopen).begin(opened(upstream));
  }
}

/**
 * Keeps which URI of the client means which resource of the backend, for later updates. Throws where there are too
 * many.
 */
function rememberSubscription(session: Session, exchange: Exchange, target: ResolvedTarget): void {
  const { method } = exchange.row;
  if (method !== 'resources/subscribe' && method !== 'resources/unsubscribe') return;
  const { backend, message } = target;
  const address = textMember(exchange.request.bytes, exchange.request.params, 'uri');
  const name = textMember(message.bytes, message.params, 'uri');
  if (address === undefined || name === undefined) return;
  if (method === 'resources/unsubscribe') {
    session.subscriptions.remove(address);
    session.records?.changed(session);
    return;
  }
  const over = session.subscriptions.reserve(address, { backend, name });
  exchange.onOver(({ outcome }) => {
    over(outcome === 'result');
    session.records?.changed(session);
  });
}

/**
 * The `task` parameter, where client and backend both have tasks in their core. Everywhere else it is ignored:
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#task-support-and-handling
 */
function taskFor({ client, call }: RequestContext): Raw | undefined {
  const { bytes, params } = call.message;
  const task = hasCoreTasks(client.revision) ? member(params, 'task') : undefined;
  return task !== undefined && bytes[task.start] === OPEN_BRACE ? slice(bytes, task) : undefined;
}

function sessionOf({ session }: RequestContext): Session {
  if (session === undefined) throw new TypeError('the request has no session');
  return session;
}

/** The `Mcp-Param-*` headers of a call. `again`: the backend refused the previous ones. */
type ParamHeaders = (again: boolean) => Promise<Record<string, string>>;

/** For the client one backend has failed, but its session has not. */
function withoutSessionLoss(sink: CallSink): CallSink {
  return {
    notify: (notification) => sink.notify(notification),
    ask: (ask) => sink.ask(ask),
    pause: (retryMs) => sink.pause(retryMs),
    settle: (outcome) => {
      const isLoss = outcome.kind === 'failure' && outcome.failure.reason === 'backend_session_lost';
      if (!isLoss) sink.settle(outcome);
      else sink.settle({ kind: 'failure', failure: new Failure('backend_unavailable', { cause: outcome.failure }) });
    },
  };
}
