/**
 * The spine: the way of a message through every room, in order. Read this file first, then gateway/modern.ts and
 * gateway/legacy.ts, which name the stages for a client of each era:
 *
 *   ingress -> identity -> session -> profile -> headers against body -> catalog -> policy -> exchange -> backend
 *
 * A message that fails a gate causes no byte to any backend.
 */
import { Failure } from './errors.ts';
import { checkVersionHeader, eraOf } from './exchange/admit.ts';
import type { Arrival, Endpoint, Gateway, Line, SessionRequest } from './exchange/arrival.ts';
import { StreamsDownstream } from './exchange/downstream.ts';
import type { Connection } from './exchange/outlet.ts';
import type { Session } from './exchange/session.ts';
import { askedOf } from './gateway/entry.ts';
import { RpcFront } from './gateway/json-rpc/front.ts';
import { LegacyFront } from './gateway/legacy.ts';
import { Lines } from './gateway/lines.ts';
import { ModernFront } from './gateway/modern.ts';
import { forgetGone, type Renewal } from './gateway/renewal.ts';
import type { Rooms } from './gateway/rooms.ts';
import type { Turn } from './gateway/turn.ts';
import type { Asked } from './identity/door.ts';
import type { Credentials, Principal } from './identity/principal.ts';
import type { Batch, Message } from './wire/message.ts';
import type { Era } from './wire/revisions.ts';

export class Spine implements Gateway {
  /** What is not MCP has a front of its own: gateway/json-rpc/front.ts. */
  readonly rpc: RpcFront;
  readonly #rooms: Rooms;
  readonly #legacy: LegacyFront;
  readonly #modern: ModernFront;
  readonly #lines: Lines;
  #draining = false;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.rpc = new RpcFront(rooms);
    this.#legacy = new LegacyFront(rooms);
    this.#modern = new ModernFront(rooms);
    this.#lines = new Lines(rooms, (era, turn) => this.#take(era, turn));
  }

  get draining(): boolean {
    return this.#draining;
  }

  receive(arrival: Arrival): void {
    const { credentials, header, paramHeaders, message, reply } = arrival;
    const { inForce, door } = this.#rooms;
    const { path } = arrival.endpoint;
    const asOf = inForce.now;
    const { leave } = asOf;
    const endpoint = asOf.endpoints.get(path);
    const era = eraOf(message, header('mcp-protocol-version'));
    if (endpoint === undefined || endpoint.protocol !== undefined) {
      reply.refuse(new Failure('path_not_found'), era);
      return;
    }
    const enter = (who: Principal | Failure) => {
      if (who instanceof Failure) reply.refuse(who, era);
      else
        this.#take(era, {
          endpoint,
          leave,
          principal: who,
          credentials,
          message,
          reply,
          header,
          paramHeaders,
          line: undefined,
        });
    };
    const who = door.identify(path, credentials, () => askedOf(message));
    // Another config came meanwhile: it is asked from the beginning, so that one of them decides everything.
    if (who instanceof Promise) void who.then((found) => (inForce.now === asOf ? enter(found) : this.receive(arrival)));
    else enter(who);
  }

  unread(request: SessionRequest, failure: Failure, message?: Message | Batch): Failure | Promise<Failure> {
    const { endpoint, credentials } = request;
    const asked = (): Asked => (message === undefined ? { kind: 'unreadable' } : askedOf(message));
    const who = this.#rooms.door.identify(endpoint.path, credentials, asked);
    const told = (found: Principal | Failure) => {
      if (found instanceof Failure) return found;
      this.#rooms.inForce.now.leave.refused({ principal: found, endpoint }, failure);
      return failure;
    };
    return who instanceof Promise ? who.then(told) : told(who);
  }

  async listen(request: SessionRequest, open: () => Connection): Promise<Failure | undefined> {
    return this.#onSession(request, async ({ downstream }, principal) => {
      if (!(downstream instanceof StreamsDownstream)) throw new Failure('session_not_found');
      const held = () => {
        const connection = open();
        connection.onClose(this.#rooms.tenure.hold(principal, () => connection.end()));
        return connection;
      };
      const last = request.header('last-event-id');
      if (last === undefined) downstream.listen(held);
      else if (!(await downstream.resume(last, held))) throw new Failure('unknown_event');
    });
  }

  async end(request: SessionRequest): Promise<Failure | undefined> {
    return this.#onSession(request, async (session) => this.#rooms.sessions.end(session));
  }

  async connect(
    endpoint: Endpoint,
    credentials: Credentials,
    via: 'sse' | 'stdio',
    connection: Connection,
  ): Promise<Line | Failure> {
    const principal = await this.#enter({ endpoint, credentials });
    if (principal instanceof Failure) return principal;
    if (this.#draining) return new Failure('shutting_down');
    return this.#lines.open({ endpoint, principal, credentials, via, connection });
  }

  /**
   * No new work. What runs may finish within the time; then everything that is still open is brought to an end that its
   * client can understand: a result for a subscription, an error for a call.
   */
  async drain(withinMs: number): Promise<void> {
    const { work, clock, sessions, parking, lanes, hub, tenure } = this.#rooms;
    this.#draining = true;
    this.rpc.drain();
    this.#modern.endSubscriptions();
    await work.finished(withinMs, clock);
    const message = 'The gateway is shutting down';
    sessions.close(new Failure('session_ended', { message }));
    this.#lines.end(new Failure('session_ended', { message }));
    // Modern clients know nothing of sessions.
    this.#modern.abort(new Failure('shutting_down', { message }));
    this.rpc.abort(new Failure('shutting_down', { message }));
    hub.close();
    tenure.close();
    parking.close();
    lanes.close();
  }

  /** Another config is in force: whoever is here goes on with it. */
  renew(renewal: Renewal): void {
    const { hub, sessions, tenure } = this.#rooms;
    forgetGone(this.#rooms, renewal);
    for (const session of sessions.all()) this.#legacy.renewed(session, renewal, false);
    for (const session of this.#lines.bound) this.#legacy.renewed(session, renewal, true);
    this.#lines.renewed(renewal);
    this.#modern.renewed(renewal);
    hub.renewed(renewal.lists);
    tenure.look();
  }

  #take(era: Era, turn: Turn): void {
    const { message, reply } = turn;
    const refuse = (error: unknown) => {
      const failure = this.#rooms.fault(error);
      turn.leave.refused({ ...turn, message: message.kind === 'batch' ? undefined : message }, failure);
      reply.refuse(failure, era, message.kind === 'request' ? message.id.raw : undefined);
    };
    try {
      // What helps to finish the work in hand, an answer or a cancellation, is still taken.
      if (this.#draining && (message.kind === 'request' || message.kind === 'batch'))
        throw new Failure('shutting_down');
      const served = (era === 'modern' ? this.#modern : this.#legacy).receive(turn);
      served?.catch(refuse);
    } catch (error) {
      refuse(error);
    }
  }

  /** For what expects no JSON-RPC answer: what the endpoint needs is all that it needs. */
  async #enter({ endpoint, credentials }: Omit<SessionRequest, 'header'>): Promise<Principal | Failure> {
    const { door } = this.#rooms;
    const who = await door.identify(endpoint.path, credentials, () => ({ kind: 'other' }));
    // Over stdio there is nothing but messages in which it could be told.
    if (who instanceof Failure || credentials === 'local') return who;
    return door.check(endpoint.path, who, credentials, {}) ?? who;
  }

  async #onSession(
    request: SessionRequest,
    action: (session: Session, principal: Principal) => Promise<void>,
  ): Promise<Failure | undefined> {
    try {
      const { endpoint, header } = request;
      const principal = await this.#enter(request);
      if (principal instanceof Failure) return principal;
      const session = this.#legacy.session({ endpoint, principal, header, line: undefined });
      checkVersionHeader(header('mcp-protocol-version'), session.client.revision);
      await action(session, principal);
      return undefined;
    } catch (error) {
      return this.#rooms.fault(error);
    }
  }
}
