/** Clients that use one connection for everything: HTTP+SSE and stdio. */
import { Failure } from '../errors/failure.ts';
import type { Endpoint, PersistentConnection, Sender } from '../exchange/arrival.ts';
import { operationOf } from '../exchange/asked.ts';
import { readCancelled } from '../exchange/cancelled.ts';
import { Inflight } from '../exchange/inflight.ts';
import type { Connection } from '../exchange/outlet.ts';
import { ConnectionReply } from '../exchange/shared-outlet.ts';
import type { Credentials, Principal } from '../identity/principal.ts';
import type { Session } from '../session/session.ts';
import type { Batch, Message, Notification } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import { eraOf } from './admit.ts';
import type { ConfigChange } from './config-change.ts';
import type { ConnectionState } from './connection-state.ts';
import { RequestContext } from './context.ts';
import type { Pipeline } from './pipeline.ts';
import type { SharedServices } from './services.ts';

const cancel = methodRow('notifications/cancelled') as MethodRow;

export interface Opened {
  readonly endpoint: Endpoint;
  readonly principal: Principal;
  readonly credentials: Credentials;
  readonly via: ConnectionState['via'];
  readonly connection: Connection;
}

export class PersistentConnections {
  readonly #pipeline: Pipeline;
  readonly #shared: SharedServices;
  readonly #open = new Map<ConnectionState, Opened>();

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
    this.#shared = pipeline.shared;
  }

  open(opened: Opened): PersistentConnection {
    const { via, connection, principal } = opened;
    const state: ConnectionState = {
      via,
      connection,
      inflight: new Inflight(),
      era: undefined,
      opening: undefined,
      session: undefined,
      closed: false,
    };
    this.#open.set(state, opened);
    const overByItself = this.#shared.credentialExpiry.hold(principal, () => connection.end());
    const stopWaiting = via === 'sse' ? this.#awaitSession(state) : undefined;
    return {
      refusal: (sender, message) => this.#refusal(opened, sender, message),
      receive: (message, sender = opened) => this.#receive(opened, state, message, sender),
      close: () => {
        overByItself();
        stopWaiting?.();
        this.#close(state);
      },
    };
  }

  end(failure: Failure): void {
    for (const { session } of [...this.#open.keys()]) session?.end(failure);
  }

  /**
   * Ends the HTTP+SSE connections of these principals that have no session; the others end with their sessions. Returns
   * how many there were.
   */
  revoke(isMeant: (principal: Principal) => boolean): number {
    const meant = [...this.#open].filter(
      ([{ via, session }, { principal }]) => via === 'sse' && session === undefined && isMeant(principal),
    );
    for (const [{ connection }] of meant) connection.end();
    return meant.length;
  }

  /** Sessions over stdio, whose client cannot reconnect. */
  get bound(): readonly Session[] {
    return [...this.#open.keys()].flatMap(({ via, session }) => (via === 'stdio' && session ? [session] : []));
  }

  /** Ends streams without a session. The others end with their sessions. */
  renewed({ closed, isWelcome }: ConfigChange): void {
    for (const [{ via, session, connection }, { endpoint, principal }] of [...this.#open]) {
      if (via === 'stdio' || session !== undefined) continue;
      if (closed.has(endpoint.path) || !isWelcome(endpoint.path, principal)) connection.end();
    }
  }

  #receive(opened: Opened, state: ConnectionState, message: Message | Batch, sender: Sender): void {
    const { connection } = opened;
    const { credentials } = sender;
    const generation = this.#shared.currentGeneration.now;
    const reply = new ConnectionReply(connection, message);
    const era = eraOn(state, message);
    const endpoint = generation.endpoints.get(opened.endpoint.path);
    if (endpoint === undefined) {
      reply.refuse(new Failure('path_not_found'), era, message.kind === 'request' ? message.id.raw : undefined);
      return;
    }
    // A reload can change what the local principal may do.
    const principal = credentials === 'local' ? generation.authenticator.local : sender.principal;
    const arrived = { message, reply, connection: state };
    const context = new RequestContext(generation, endpoint, era, { principal, credentials }, arrived);
    if (message.kind === 'notification' && message.method === cancel.method && this.#mayCancel(context))
      cancelOn(state, message);
    this.#pipeline.take(context);
  }

  #mayCancel({ principal, endpoint, authorizer }: RequestContext): boolean {
    return authorizer.may({ principal, endpoint, row: cancel, backend: '', revision: undefined }) !== undefined;
  }

  /**
   * Ends an SSE stream without `initialize`: it holds a socket that no session limit counts. Returns a function that
   * stops this.
   */
  #awaitSession(state: ConnectionState): () => void {
    const { clock, limits, count } = this.#shared;
    let stop: () => void;
    const look = () => {
      if (state.session !== undefined) return;
      if (state.opening !== undefined) {
        stop = clock.after(limits.initializeMs, look);
        return;
      }
      count('line.never_initialized');
      state.connection.end();
    };
    stop = clock.after(limits.initializeMs, look);
    return () => stop();
  }

  /** A sender that knows the id of a different principal's connection is told that there is none. */
  #refusal({ endpoint, principal }: Opened, sender: Sender, message: Message | Batch): Failure | undefined {
    if (sender.principal.key !== principal.key) return new Failure('session_not_found');
    const { authenticator } = this.#shared.currentGeneration.now;
    return authenticator.check(endpoint.path, sender.principal, sender.credentials, operationOf(message) ?? {});
  }

  #close(state: ConnectionState): void {
    state.closed = true;
    this.#open.delete(state);
    for (const exchange of state.inflight.all()) exchange.cancel('The client has disconnected');
    if (state.session === undefined) return;
    void this.#shared.sessions.end(state.session);
    state.session.end(new Failure('session_ended'));
  }
}

/**
 * HTTP+SSE is older than the modern era and cannot carry it. On stdio, a message without a revision belongs to the era
 * in which the client began. `initialize` begins the legacy era even after a `server/discover`.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility
 */
function eraOn(state: ConnectionState, message: Message | Batch): Era {
  if (state.via === 'sse') return 'legacy';
  const said = eraOf(message, undefined);
  if (said === 'modern') state.era ??= said;
  else if (message.kind === 'request' && message.method === 'initialize') state.era = said;
  return said === 'modern' ? said : (state.era ?? said);
}

/** On a persistent connection a client of either era cancels by request id. A legacy session finds the id itself. */
function cancelOn(state: ConnectionState, message: Notification): void {
  const cancelled = readCancelled(message);
  if (cancelled !== undefined) state.inflight.only(cancelled.id)?.cancel(cancelled.reason);
}
