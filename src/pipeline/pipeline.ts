/**
 * How a message passes through the gateway. One `RequestContext` (context.ts) goes through these stages, in this order:
 *
 *   authenticate  who sends it, by its headers, before a body is read   identity/authenticator.ts
 *   scopes        what endpoint and method demand of a token            check-scopes.ts
 *   session       legacy clients: the session that the message names    legacy.ts
 *   admit         revision, headers against body, method                admit.ts
 *   resolve       the backend, and what it calls the thing itself       catalog/name-resolver.ts
 *   authorize     profile, rules, rates, the audit record               authorize.ts, policy/authorizer.ts
 *   call          an upstream session, and the interceptors around it   modern-calls.ts, legacy-calls.ts, interceptors/
 *
 * modern.ts and legacy.ts take a message of their era through them. A message that fails a stage reaches no backend.
 */
import { Failure } from '../errors/failure.ts';
import type {
  Arrival,
  Authenticated,
  Endpoint,
  Gateway,
  PersistentConnection,
  Sender,
  SessionRequest,
} from '../exchange/arrival.ts';
import { askedOf } from '../exchange/asked.ts';
import type { Connection } from '../exchange/outlet.ts';
import type { AuthContext, Credentials, Principal } from '../identity/principal.ts';
import { RpcFront } from '../jsonrpc/front.ts';
import { StreamsDownstream } from '../session/downstream.ts';
import type { Session } from '../session/session.ts';
import type { Era } from '../wire/revisions.ts';
import { checkVersionHeader, eraOf } from './admit.ts';
import { type ConfigChange, forgetGone } from './config-change.ts';
import { RequestContext } from './context.ts';
import { meetHop } from './hops.ts';
import { LegacyFront } from './legacy.ts';
import { ModernFront } from './modern.ts';
import { PersistentConnections } from './persistent-connections.ts';
import type { SharedServices } from './services.ts';

export class Pipeline implements Gateway {
  /** Services that are not MCP have stages of their own: jsonrpc/front.ts. */
  readonly rpc: RpcFront;
  readonly #shared: SharedServices;
  readonly #legacy: LegacyFront;
  readonly #modern: ModernFront;
  readonly #connections: PersistentConnections;
  #draining = false;

  constructor(shared: SharedServices) {
    this.#shared = shared;
    this.rpc = new RpcFront(shared);
    this.#legacy = new LegacyFront(shared);
    this.#modern = new ModernFront(shared);
    this.#connections = new PersistentConnections(shared, (era, context) => this.#take(era, context));
  }

  get draining(): boolean {
    return this.#draining;
  }

  authenticate(
    { path }: Endpoint,
    credentials: Credentials,
  ): Authenticated | Failure | Promise<Authenticated | Failure> {
    const asOf = this.#shared.currentGeneration.now;
    const found = this.#shared.authenticator.identify(path, credentials);
    if (found instanceof Promise)
      return found.then((who) => (who instanceof Failure ? who : { principal: who, credentials, asOf }));
    return found instanceof Failure ? found : { principal: found, credentials, asOf };
  }

  refusal({ path }: Endpoint, credentials: Credentials, failure: Failure, asked: AuthContext): Failure {
    return this.#shared.authenticator.told(path, failure, credentials, asked);
  }

  receive(arrival: Arrival): void {
    const { sender, header, paramHeaders, message, reply } = arrival;
    const asOf = this.#shared.currentGeneration.now;
    // The config was reloaded while the body was read: start again, so that one generation decides all of the request.
    if (sender.asOf !== asOf) {
      void this.#again(arrival);
      return;
    }
    const endpoint = asOf.endpoints.get(arrival.endpoint.path);
    const era = eraOf(message, header('mcp-protocol-version'));
    if (endpoint === undefined || endpoint.protocol !== undefined) {
      reply.refuse(new Failure('path_not_found'), era);
      return;
    }
    const hop = isOpening(message) ? meetHop(this.#shared, endpoint, header) : undefined;
    if (hop instanceof Failure) {
      reply.refuse(hop, era);
      return;
    }
    if (hop !== undefined) reply.carry(hop);
    const { principal, credentials } = sender;
    const { authorizer } = asOf;
    const connection = undefined;
    const arrived = { endpoint, authorizer, principal, credentials, message, reply, header, paramHeaders, connection };
    this.#take(era, new RequestContext(arrived));
  }

  async #again(arrival: Arrival): Promise<void> {
    const { endpoint, message, header, reply } = arrival;
    const { credentials } = arrival.sender;
    const sender = await this.authenticate(endpoint, credentials);
    if (!(sender instanceof Failure)) this.receive({ ...arrival, sender });
    else {
      const told = this.refusal(endpoint, credentials, sender, askedOf(message));
      reply.refuse(told, eraOf(message, header('mcp-protocol-version')));
    }
  }

  unread({ endpoint, sender: { principal } }: Omit<SessionRequest, 'header'>, failure: Failure): void {
    this.#shared.currentGeneration.now.authorizer.refused({ principal, endpoint }, failure);
  }

  async listen(request: SessionRequest, open: () => Connection): Promise<Failure | undefined> {
    return this.#onSession(request, async ({ downstream }, principal) => {
      if (!(downstream instanceof StreamsDownstream)) throw new Failure('session_not_found');
      const held = () => {
        const connection = open();
        connection.onClose(this.#shared.credentialExpiry.hold(principal, () => connection.end()));
        return connection;
      };
      const last = request.header('last-event-id');
      if (last === undefined) downstream.listen(held);
      else if (!(await downstream.resume(last, held))) throw new Failure('unknown_event');
    });
  }

  async end(request: SessionRequest): Promise<Failure | undefined> {
    return this.#onSession(request, async (session) => this.#shared.sessions.end(session));
  }

  hop({ endpoint, header }: Omit<SessionRequest, 'sender'>): ReturnType<Gateway['hop']> {
    const current = this.#shared.currentGeneration.now.endpoints.get(endpoint.path) ?? endpoint;
    const hop = meetHop(this.#shared, current, header);
    return typeof hop === 'function' ? hop() : hop;
  }

  async connect(
    endpoint: Endpoint,
    sender: Sender,
    via: 'sse' | 'stdio',
    connection: Connection,
  ): Promise<PersistentConnection | Failure> {
    const lacking = this.#lacking(endpoint, sender);
    if (lacking !== undefined) return lacking;
    if (this.#draining) return new Failure('shutting_down');
    const { principal, credentials } = sender;
    return this.#connections.open({ endpoint, principal, credentials, via, connection });
  }

  /**
   * Takes no new work. What runs may finish within the time. Then everything that is still open ends in a way that its
   * client understands: a result for a subscription, an error for a call.
   */
  async drain(withinMs: number): Promise<void> {
    const { work, clock, sessions, pendingCalls, upstreams, listChanges, credentialExpiry } = this.#shared;
    this.#draining = true;
    this.rpc.drain();
    this.#modern.endSubscriptions();
    await work.finished(withinMs, clock);
    const message = 'The gateway is shutting down';
    sessions.close(new Failure('session_ended', { message }));
    this.#connections.end(new Failure('session_ended', { message }));
    // Modern clients have no sessions.
    this.#modern.abort(new Failure('shutting_down', { message }));
    this.rpc.abort(new Failure('shutting_down', { message }));
    listChanges.close();
    credentialExpiry.close();
    pendingCalls.close();
    upstreams.close();
  }

  /** Applies a new config to all sessions, connections and streams: each continues under it, or ends. */
  renew(renewal: ConfigChange): void {
    const { listChanges, sessions, credentialExpiry } = this.#shared;
    forgetGone(this.#shared, renewal);
    for (const session of sessions.all()) this.#legacy.renewed(session, renewal, false);
    for (const session of this.#connections.bound) this.#legacy.renewed(session, renewal, true);
    this.#connections.renewed(renewal);
    this.#modern.renewed(renewal);
    listChanges.renewed(renewal.lists);
    credentialExpiry.look();
  }

  #take(era: Era, context: RequestContext): void {
    const { message, reply, principal, endpoint, authorizer } = context;
    const refuse = (error: unknown) => {
      const failure = this.#shared.fault(error);
      const said = message.kind === 'batch' ? undefined : message;
      authorizer.refused({ principal, endpoint, message: said }, failure);
      reply.refuse(failure, era, message.kind === 'request' ? message.id.raw : undefined);
    };
    try {
      // A response or a cancellation helps running requests to finish, so it is still accepted.
      if (this.#draining && (message.kind === 'request' || message.kind === 'batch'))
        throw new Failure('shutting_down');
      const served = (era === 'modern' ? this.#modern : this.#legacy).receive(context);
      served?.catch(refuse);
    } catch (error) {
      refuse(error);
    }
  }

  /** For requests without a JSON-RPC message: only the scopes of the endpoint apply. */
  #lacking({ path }: Endpoint, { principal, credentials }: Sender): Failure | undefined {
    // On stdio a missing scope can only be reported in the response to a message.
    return credentials === 'local' ? undefined : this.#shared.authenticator.check(path, principal, credentials, {});
  }

  async #onSession(
    request: SessionRequest,
    action: (session: Session, principal: Principal) => Promise<void>,
  ): Promise<Failure | undefined> {
    try {
      const { endpoint, sender, header } = request;
      const lacking = this.#lacking(endpoint, sender);
      if (lacking !== undefined) return lacking;
      const { principal } = sender;
      const session = this.#legacy.session({ endpoint, principal, header, connection: undefined });
      checkVersionHeader(header('mcp-protocol-version'), session.client.revision);
      await action(session, principal);
      return undefined;
    } catch (error) {
      return this.#shared.fault(error);
    }
  }
}

/** Every loop begins with `server/discover` or `initialize`, so only these are checked. */
function isOpening(message: Arrival['message']): boolean {
  return message.kind === 'request' && (message.method === 'server/discover' || message.method === 'initialize');
}
