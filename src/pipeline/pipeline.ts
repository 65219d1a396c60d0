/**
 * How a message passes through the gateway. One `RequestContext` (context.ts) goes through these stages, in this order:
 *
 *   authenticate  who sends it, by its headers, before a body is read   gateway.ts, identity/authenticator.ts
 *   scopes        what endpoint and method demand of a token            check-scopes.ts
 *   session       legacy clients: the session that the message names    legacy.ts, continued-sessions.ts
 *   admit         revision, headers against body, method                admit.ts
 *   resolve       the backend, and what it calls the thing itself       resolve.ts
 *   authorize     profile, rules, rates, the audit record               authorize.ts
 *   decide        decision points outside, where the config has some    decide-outside.ts, as the end of authorize
 *   open          the response, and the exchange that settles it        open.ts
 *   check         arguments of tools that were listed without a schema  check-arguments.ts, for budgets alone
 *   approve       a person, where a rule demands it                     approve.ts, approval-rounds.ts
 *   call          an upstream session, and the interceptors around it   modern-calls.ts, legacy-calls.ts, interceptors/
 *
 * A message that fails a stage reaches no backend. Requests of both eras take the same way. modern.ts and legacy.ts
 * serve what is no such request in their era: openings (initialize.ts), notifications, responses, batches.
 */
import type { CallStarter } from '../bridge/responder.ts';
import { Failure } from '../errors/failure.ts';
import type { WithheldAuthorization } from '../policy/withheld.ts';
import { admitLegacy } from './admit.ts';
import { abandon, authorize, isToldByStatus, rejected } from './authorize.ts';
import { demandScopes } from './check-scopes.ts';
import type { RequestContext } from './context.ts';
import { ContinuedSessions } from './continued-sessions.ts';
import { LegacyFront } from './legacy.ts';
import { LegacyCalls } from './legacy-calls.ts';
import { ModernFront } from './modern.ts';
import { ModernCalls } from './modern-calls.ts';
import { OpenExchanges } from './open.ts';
import { resolve } from './resolve.ts';
import type { SharedServices, StageServices } from './services.ts';
import { SessionUpstreams } from './session-upstreams.ts';

export class Pipeline implements StageServices {
  readonly shared: SharedServices;
  readonly sessionUpstreams: SessionUpstreams;
  readonly exchanges: OpenExchanges;
  readonly continued: ContinuedSessions;
  readonly modern: ModernFront;
  readonly legacy: LegacyFront;
  readonly #modernCalls: ModernCalls;
  readonly #legacyCalls: LegacyCalls;

  constructor(shared: SharedServices) {
    this.shared = shared;
    this.sessionUpstreams = new SessionUpstreams(shared);
    this.exchanges = new OpenExchanges(shared);
    this.continued = new ContinuedSessions(this);
    this.modern = new ModernFront(this);
    this.legacy = new LegacyFront(this);
    this.#modernCalls = new ModernCalls(this);
    this.#legacyCalls = new LegacyCalls(this);
  }

  /** Takes a message whose sender is authenticated. Never throws: failures are reported through the reply. */
  take(context: RequestContext): void {
    const { message, era } = context;
    if (message.kind !== 'batch') context.trace = this.shared.tracer?.trace(context);
    const { observer, sampledObserver, clock } = this.shared;
    if ((sampledObserver ?? observer) !== undefined) context.observe(this.shared, clock.now());
    try {
      // A response or a cancellation helps running requests to finish, so it is still accepted.
      if (this.shared.work.draining && (message.kind === 'request' || message.kind === 'batch'))
        throw new Failure('shutting_down');
      // Most principals have all scopes: the stage is not entered for them.
      if (context.principal.scopes !== 'all') demandScopes(context, [message]);
      const served = era === 'modern' ? this.modern.receive(context) : this.legacy.receive(context);
      if (served === undefined) tellServed(context);
      else served.then(() => tellServed(context)).catch((error: unknown) => this.#refuse(context, error));
    } catch (error) {
      this.#refuse(context, error);
    }
  }

  /** The stages of an admitted request. False where no response could be opened: nothing was done then. */
  request(context: RequestContext): boolean {
    let cleared: void | Promise<void>;
    try {
      cleared = this.clear(context);
    } catch (error) {
      // An HTTP status must be known before the response begins. Other failures are reported through the exchange.
      if (isToldByStatus(error)) throw error;
      cleared = rejected(error);
    }
    if (!this.exchanges.open(context)) {
      context.ended({ outcome: 'cancelled' });
      abandon(context, cleared);
      return false;
    }
    this.call(context, cleared);
    return true;
  }

  /**
   * Decides whether, and where, a request may be executed. Throws, or rejects with, a Failure. Returns a promise only
   * where lists have to be read first, or other processes or decision points are asked.
   */
  clear(context: RequestContext): void | Promise<void> {
    if (context.session !== undefined) admitLegacy(context, context.session);
    const resolving = resolve(this, context);
    return resolving === undefined ? authorize(this, context) : resolving.then(() => authorize(this, context));
  }

  /** From here on a failure settles the exchange: a response that was refused directly would leave it open for ever. */
  call(context: RequestContext, cleared: void | Promise<void>): void {
    const fail = (error: unknown) => context.exchange.fail(this.shared.fault(error));
    if (cleared !== undefined) {
      cleared.then(() => this.#call(context)).catch(fail);
      return;
    }
    try {
      this.#call(context)?.catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  #call(context: RequestContext): void | Promise<void> {
    const refusal = context.target?.refusal;
    if (refusal !== undefined) throw watched(context, refusal);
    if (context.endpoint.budget !== undefined && context.row.action === 'call') return this.#callChecked(context);
    return this.#callApproved(context);
  }

  /** Checked before a person is asked. Loaded at the first call of an endpoint with a budget. */
  async #callChecked(context: RequestContext): Promise<void> {
    const { toldSchema } = await import('./check-arguments.ts');
    return this.#callApproved(context, await toldSchema(this, context));
  }

  /** `told` is the answer in the place of the backend's, and needs no approval. */
  #callApproved(context: RequestContext, told?: CallStarter): void | Promise<void> {
    const { exchange, authorization, session, row, target, request, client, paramHeaders } = context;
    if (told === undefined && authorization.withheld !== undefined)
      return this.#approve(context, authorization.withheld);
    // A listen is watched from its opening on.
    if (context.listen?.authorization === undefined) exchange.watch(authorization);
    if (exchange.settled) return;
    context.call = {
      row,
      message: target?.message ?? request,
      client,
      progress: exchange.token !== undefined,
      logLevel: session === undefined ? context.logLevel : session.logLevel,
      paramHeaders,
      trace: context.trace,
      origin: context.observer === undefined ? undefined : context,
    };
    if (told !== undefined) return this.#answer(context, told);
    if (session === undefined) return this.#modernCalls.begin(context);
    return this.#legacyCalls.begin(context, session);
  }

  #answer(context: RequestContext, told: CallStarter): void {
    if (context.session === undefined) this.#modernCalls.answer(context, told);
    else this.#legacyCalls.answer(context, context.session, told);
  }

  /** Loaded at the first question. Nothing more happens where the client was asked: its retry is another request. */
  async #approve(context: RequestContext, withheld: WithheldAuthorization): Promise<void> {
    const { approve } = await import('./approve.ts');
    if (await approve(this, context, withheld)) await this.#callApproved(context);
  }

  #refuse(context: RequestContext, error: unknown): void {
    const { message, principal, endpoint, authorizer, reply, era } = context;
    const failure = this.shared.fault(error);
    const read = message.kind === 'batch' ? undefined : message;
    authorizer.trail.refused({ principal, endpoint, message: read, sender: context }, failure);
    reply.refuse(failure, era, message.kind === 'request' ? message.id.raw : undefined);
    // Last, so that observers know the status of the response.
    context.ended({ outcome: 'error', failure });
  }
}

/** The request was allowed, and is refused all the same: its exchange tells the audit trail how it ended. */
function watched({ exchange, authorization }: RequestContext, refusal: Failure): Failure {
  exchange.watch(authorization.withheld ?? authorization);
  return refusal;
}

/** Where the message has an exchange, that tells how it ended. */
function tellServed(context: RequestContext): void {
  if (context.observer === undefined || context.exchange !== undefined) return;
  context.ended({ outcome: context.message.kind === 'request' ? 'result' : 'accepted' });
}
