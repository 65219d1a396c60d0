/**
 * `initialize`: opens a session, within the limits of its principal, together with the upstream session of an only
 * backend.
 */
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import { memberId } from '../exchange/member-id.ts';
import { ConnectionDownstream } from '../session/downstream.ts';
import type { SealFacts } from '../session/session.ts';
import { resultBytes } from '../wire/compose.ts';
import type { Request } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { readVia, VIA } from '../wire/via.ts';
import { authorizeForAll } from './authorize.ts';
import type { ConnectionState } from './connection-state.ts';
import type { RequestContext } from './context.ts';
import { initializeResult, readInitialize } from './handshake.ts';
import { tellLeftOut } from './left-out-extensions.ts';
import { newSession, newStreams } from './open.ts';
import type { SharedServices, StageServices } from './services.ts';

const row = methodRow('initialize') as MethodRow;

export async function initialize(services: StageServices, context: RequestContext, request: Request): Promise<void> {
  const { work } = services.shared;
  const { endpoint, connection } = context;
  const via = readVia(context.header?.(VIA));
  const known = readInitialize(request, endpoint);
  context.row = row;
  context.client = via.length > 0 ? { ...known, via } : known;
  // Before anything is awaited: a shutdown waits for it, and so do later messages on the connection.
  work.begin();
  const answered = connection && holdBack(connection);
  try {
    await openSession(services, context, request);
  } finally {
    work.end();
    answered?.();
  }
}

async function openSession(
  { shared, sessionUpstreams }: StageServices,
  context: RequestContext,
  request: Request,
): Promise<void> {
  const { endpoint, principal, reply, connection, client } = context;
  const { currentGeneration, sessions } = shared;
  const authorization = await authorizeForAll(context, row, client.revision, request);
  const sealed = connection === undefined ? sealedId(shared, context, client) : undefined;
  const id = sealed?.id ?? memberId(shared.member, shared.newId());
  const downstream =
    connection === undefined
      ? newStreams(shared, id, client.revision)
      : new ConnectionDownstream(connection.connection);
  const place = currentGeneration.place(endpoint);
  const session = newSession(shared, { id, principal, endpoint: place, client, seal: sealed?.seal }, downstream);
  session.filter = sessionUpstreams.filter;
  let outcome: 'result' | 'error' = 'error';
  let isReserved = false;
  try {
    await sessions.reserve(principal);
    isReserved = true;
    const discovery = await sessionUpstreams.open(session, authorization.permit);
    outcome = 'result';
    // The client disconnected while the session was being opened, when there was no session to end yet.
    if (connection?.closed === true) {
      session.end(new Failure('session_ended'));
      return;
    }
    // A reload may have changed or removed the endpoint meanwhile.
    if (!currentGeneration.now.endpoints.has(endpoint.path)) throw new Failure('path_not_found');
    sessionUpstreams.reshape(session);
    context.session = session;
    session.onEnd(() => shared.sessionEnded(session, connection?.via ?? 'http'));
    if (connection !== undefined) connection.session = session;
    // The one client of stdio may stay as long as it likes. All other sessions count against the limits.
    if (connection?.via !== 'stdio') {
      sessions.add(session);
      isReserved = false;
    }
    tellLeftOut(shared.warn, endpoint, discovery);
    const result = resultBytes(request.id.raw, initializeResult(client.revision, endpoint, discovery));
    reply.respond(result, connection === undefined ? { 'Mcp-Session-Id': id } : {});
  } finally {
    if (isReserved) sessions.giveUp(principal);
    authorization.over?.({ outcome });
  }
}

/** Undefined where none can be made: the session ends with this process. */
function sealedId(
  { sessionSeal, timeOfDay, limits, member }: SharedServices,
  { endpoint, principal }: RequestContext,
  client: ClientFacts,
): { readonly id: string; readonly seal: SealFacts } | undefined {
  const issuedAt = timeOfDay();
  const until = issuedAt + limits.sessionMaxMs;
  const id = sessionSeal().issue(
    { issuedAt, until, member, client },
    { endpoint: endpoint.path, principal: principal.key },
  );
  return id === undefined ? undefined : { id, seal: { issuedAt, until, age: 0 } };
}

/** Other messages wait. Returns a function to call when `initialize` has been answered, with a result or an error. */
function holdBack(connection: ConnectionState): () => void {
  let done: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => {
    done = resolve;
  });
  connection.opening = { answered, waiting: 0 };
  return () => {
    connection.opening = undefined;
    done();
  };
}
