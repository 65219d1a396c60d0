/** What the gateway offers to transports: each message that they bring begins its way through the pipeline here. */
import { Failure } from '../errors/failure.ts';
import type {
  Arrival,
  Authenticated,
  Endpoint,
  Gateway,
  PersistentConnection,
  Sender,
  SentRequest,
  SessionRequest,
} from '../exchange/arrival.ts';
import { askedOf } from '../exchange/asked.ts';
import type { Connection } from '../exchange/outlet.ts';
import type { AuthContext, Credentials, Principal } from '../identity/principal.ts';
import { RpcFront } from '../jsonrpc/front.ts';
import type { RpcObserver } from '../jsonrpc/ports.ts';
import { StreamsDownstream } from '../session/downstream.ts';
import type { Session } from '../session/session.ts';
import { textMember } from '../wire/values.ts';
import { checkVersionHeader, eraOf } from './admit.ts';
import { type ConfigChange, forgetGone } from './config-change.ts';
import { RequestContext } from './context.ts';
import { meetHop } from './hops.ts';
import { PersistentConnections } from './persistent-connections.ts';
import { Pipeline } from './pipeline.ts';
import type { SharedServices } from './services.ts';
import { OwnSessions } from './session-places.ts';

export class McpGateway implements Gateway {
  /** Services that are not MCP have stages of their own: jsonrpc/front.ts. */
  readonly rpc: RpcFront;
  readonly places: OwnSessions;
  readonly #shared: SharedServices;
  readonly #pipeline: Pipeline;
  readonly #connections: PersistentConnections;

  constructor(shared: SharedServices, rpcObserver?: RpcObserver) {
    this.#shared = shared;
    this.rpc = new RpcFront(shared, (arrival, asked) => this.#authenticateAgain(arrival, asked), rpcObserver);
    this.#pipeline = new Pipeline(shared);
    this.places = new OwnSessions(this.#pipeline);
    this.#connections = new PersistentConnections(this.#pipeline);
  }

  get draining(): boolean {
    return this.#shared.work.draining;
  }

  authenticate(
    { path }: Endpoint,
    credentials: Credentials,
  ): Authenticated | Failure | Promise<Authenticated | Failure> {
    const generation = this.#shared.currentGeneration.now;
    const found = generation.authenticator.identify(path, credentials);
    if (found instanceof Promise)
      return found.then((who) => (who instanceof Failure ? who : { principal: who, credentials, generation }));
    return found instanceof Failure ? found : { principal: found, credentials, generation };
  }

  refusal({ path }: Endpoint, credentials: Credentials, failure: Failure, asked: AuthContext): Failure {
    return this.#shared.currentGeneration.now.authenticator.told(path, failure, credentials, asked);
  }

  receive(arrival: Arrival): void {
    const { sender, header, message, reply } = arrival;
    const { generation } = sender;
    const era = eraOf(message, header('mcp-protocol-version'));
    if (generation !== this.#shared.currentGeneration.now) {
      void this.#authenticateAgain(arrival, askedOf(message)).then((failure) => {
        if (failure === undefined) this.receive(arrival);
        else reply.refuse(failure, era);
      });
      return;
    }
    const endpoint = generation.endpoints.get(arrival.endpoint.path);
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
    this.#pipeline.take(new RequestContext(generation, endpoint, era, sender, arrival));
  }

  unread({ endpoint, sender: { principal } }: Omit<SessionRequest, 'header'>, failure: Failure): void {
    this.#shared.currentGeneration.now.authorizer.trail.refused({ principal, endpoint }, failure);
  }

  /** Only a stream that is resumed waits, for its events. */
  listen(request: SessionRequest, open: () => Connection): Failure | undefined | Promise<Failure | undefined> {
    return this.#onSession(request, ({ downstream }, principal) => {
      if (!(downstream instanceof StreamsDownstream)) throw new Failure('session_not_found');
      const held = () => {
        const connection = open();
        connection.onClose(this.#shared.credentialExpiry.hold(principal, () => connection.end()));
        return connection;
      };
      const last = request.header('last-event-id');
      if (last !== undefined) return downstream.resume(last, held).then(unlessResumed);
      downstream.listen(held);
    });
  }

  memberOfRetry({ endpoint, sender, message }: Parameters<Gateway['memberOfRetry']>[0]): string | undefined {
    if (message.kind !== 'request') return undefined;
    const state = textMember(message.bytes, message.params, 'requestState');
    const claim = { principal: sender.principal, endpoint: endpoint.path, request: message };
    return state === undefined ? undefined : this.#shared.pendingCalls.memberOf(state, claim);
  }

  /** Resolves when no process can continue the session. */
  async end(request: SessionRequest): Promise<Failure | undefined> {
    const { endpoint, sender, header } = request;
    const id = header('mcp-session-id') ?? '';
    const { continued } = this.#pipeline;
    await continued.settled(id);
    const elsewhere = continued.opened(id, endpoint, sender.principal);
    if (elsewhere === undefined) return this.#onSession(request, (session) => this.#shared.sessions.end(session));
    try {
      const lacking = this.#lacking(endpoint, sender);
      if (lacking !== undefined) return lacking;
      checkVersionHeader(header('mcp-protocol-version'), elsewhere.client.revision);
      await continued.end(id, sender.principal, elsewhere);
      return undefined;
    } catch (error) {
      return this.#shared.fault(error);
    }
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
    if (this.draining) return new Failure('shutting_down');
    const { principal, credentials } = sender;
    return this.#connections.open({ endpoint, principal, credentials, via, connection });
  }

  /**
   * Takes no new work. What runs may finish within the time. Then everything that is still open ends in a way that its
   * client understands: a result for a subscription, an error for a call.
   */
  async drain(withinMs: number): Promise<void> {
    const { work, clock, sessions, sessionRecords, pendingCalls, upstreams, listChanges, credentialExpiry } =
      this.#shared;
    work.draining = true;
    this.#pipeline.modern.endSubscriptions();
    await work.finished(withinMs, clock);
    // Another process, or the next one, may continue the sessions that end here.
    await sessionRecords.flush();
    const message = 'The gateway is shutting down';
    sessions.close(new Failure('session_ended', { message }));
    this.#connections.end(new Failure('session_ended', { message }));
    // Modern clients have no sessions.
    this.#pipeline.exchanges.abort(new Failure('shutting_down', { message }));
    this.rpc.abort(new Failure('shutting_down', { message }));
    listChanges.close();
    credentialExpiry.close();
    pendingCalls.close();
    upstreams.close();
  }

  /** Stores what waits to be stored of sessions: other processes may go on with them. */
  async flush(): Promise<void> {
    await this.#shared.sessionRecords.flush();
  }

  /** Ends all streams of these principals that are not part of a session. Returns how many there were. */
  revokeStreams(isMeant: (principal: Principal) => boolean, failure: Failure): number {
    return this.#pipeline.modern.revoke(isMeant, failure) + this.#connections.revoke(isMeant);
  }

  /** Applies a new config to all sessions, connections and streams: each continues under it, or ends. */
  renew(renewal: ConfigChange): void {
    const { listChanges, sessions, credentialExpiry } = this.#shared;
    forgetGone(this.#shared, renewal);
    for (const session of sessions.all()) this.#pipeline.legacy.renewed(session, renewal, false);
    for (const session of this.#connections.bound) this.#pipeline.legacy.renewed(session, renewal, true);
    this.#connections.renewed(renewal);
    this.#pipeline.modern.renewed(renewal);
    listChanges.renewed(renewal.lists);
    credentialExpiry.look();
  }

  /**
   * For a request whose generation was replaced while its body was read: the new rules hold as soon as the reload is
   * done, so the current generation authenticates its sender, and decides everything else about it.
   */
  async #authenticateAgain(arrival: SentRequest, asked: AuthContext): Promise<Failure | undefined> {
    const { endpoint, sender } = arrival;
    const found = await this.authenticate(endpoint, sender.credentials);
    if (found instanceof Failure) return this.refusal(endpoint, sender.credentials, found, asked);
    arrival.sender = found;
    return undefined;
  }

  /** For requests without a JSON-RPC message: only the scopes of the endpoint apply. */
  #lacking({ path }: Endpoint, { principal, credentials }: Sender): Failure | undefined {
    // On stdio a missing scope can only be reported in the response to a message.
    const { authenticator } = this.#shared.currentGeneration.now;
    return credentials === 'local' ? undefined : authenticator.check(path, principal, credentials, {});
  }

  #onSession(request: SessionRequest, action: SessionAction): Failure | undefined | Promise<Failure | undefined> {
    const { endpoint, sender, header } = request;
    const { legacy } = this.#pipeline;
    const naming = { ...sender, endpoint, header, connection: undefined };
    const act = (session: Session) => {
      checkVersionHeader(header('mcp-protocol-version'), session.client.revision);
      return action(session, sender.principal);
    };
    try {
      const lacking = this.#lacking(endpoint, sender);
      if (lacking !== undefined) return lacking;
      const session = legacy.session(naming);
      const acting = session === undefined ? legacy.continued(naming).then(act) : act(session);
      if (!(acting instanceof Promise)) return undefined;
      return acting.then(
        () => undefined,
        (error: unknown) => this.#shared.fault(error),
      );
    } catch (error) {
      return this.#shared.fault(error);
    }
  }
}

/** What GET and DELETE do with their session. Throws, or rejects with, a Failure. */
type SessionAction = (session: Session, principal: Principal) => void | Promise<void>;

function unlessResumed(isResumed: boolean): void {
  if (!isResumed) throw new Failure('unknown_event');
}

/** Every loop begins with `server/discover` or `initialize`, so only these are checked. */
function isOpening(message: Arrival['message']): boolean {
  return message.kind === 'request' && (message.method === 'server/discover' || message.method === 'initialize');
}
