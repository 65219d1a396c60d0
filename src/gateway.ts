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
import { readCancelled } from './exchange/cancelled.ts';
import { StreamsDownstream } from './exchange/downstream.ts';
import { Inflight } from './exchange/exchange.ts';
import { LineReply } from './exchange/line.ts';
import type { Connection } from './exchange/outlet.ts';
import type { Session } from './exchange/session.ts';
import { LegacyFront } from './gateway/legacy.ts';
import { ModernFront } from './gateway/modern.ts';
import type { Rooms } from './gateway/rooms.ts';
import type { LineState, Turn } from './gateway/turn.ts';
import { identify } from './identity/identify.ts';
import type { Credentials } from './identity/principal.ts';
import type { Batch, Message } from './wire/message.ts';
import type { Era } from './wire/revisions.ts';

export class Spine implements Gateway {
  readonly #rooms: Rooms;
  readonly #legacy: LegacyFront;
  readonly #modern: ModernFront;
  readonly #lines = new Set<LineState>();
  #draining = false;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
    this.#legacy = new LegacyFront(rooms);
    this.#modern = new ModernFront(rooms);
  }

  get draining(): boolean {
    return this.#draining;
  }

  receive(arrival: Arrival): void {
    const { endpoint, credentials, header, paramHeaders, message, reply } = arrival;
    const era = eraOf(message, header('mcp-protocol-version'));
    this.#take(
      era,
      () => ({
        endpoint,
        principal: identify(credentials),
        message,
        reply,
        header,
        paramHeaders,
        line: undefined,
      }),
      arrival,
    );
  }

  async listen(request: SessionRequest, open: () => Connection): Promise<Failure | undefined> {
    return this.#onSession(request, async ({ downstream }) => {
      if (!(downstream instanceof StreamsDownstream)) throw new Failure('session_not_found');
      const last = request.header('last-event-id');
      if (last === undefined) downstream.listen(open());
      else if (!(await downstream.resume(last, open))) throw new Failure('unknown_event');
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
    if (this.#draining) return new Failure('shutting_down');
    const principal = identify(credentials);
    const inflight = new Inflight();
    const line: LineState = {
      via,
      connection,
      inflight,
      era: undefined,
      opening: undefined,
      session: undefined,
      closed: false,
    };
    this.#lines.add(line);
    return {
      receive: (message) => {
        const reply = new LineReply(connection, message);
        const turn: Turn = { endpoint, principal, message, reply, header: undefined, paramHeaders: undefined, line };
        const era = eraOn(line, message);
        if (message.kind === 'notification' && message.method === 'notifications/cancelled') cancelOn(line, turn);
        this.#take(era, () => turn, turn);
      },
      close: () => {
        line.closed = true;
        this.#lines.delete(line);
        for (const exchange of line.inflight.all()) exchange.cancel('The client is gone');
        if (line.session !== undefined) {
          this.#rooms.sessions.end(line.session);
          line.session.end(new Failure('session_ended'));
        }
      },
    };
  }

  /**
   * No new work. What runs may finish within the time; then everything that is still open is brought to an end that its
   * client can understand: a result for a subscription, an error for a call.
   */
  async drain(withinMs: number): Promise<void> {
    const { work, clock, sessions, parking, lanes } = this.#rooms;
    this.#draining = true;
    this.#modern.endSubscriptions();
    await work.finished(withinMs, clock);
    const message = 'The gateway is shutting down';
    sessions.close(new Failure('session_ended', { message }));
    for (const { session } of [...this.#lines]) session?.end(new Failure('session_ended', { message }));
    // Modern clients know nothing of sessions.
    this.#modern.abort(new Failure('shutting_down', { message }));
    parking.close();
    lanes.close();
  }

  #take(era: Era, turn: () => Turn, { message, reply }: Pick<Turn, 'message' | 'reply'>): void {
    const refuse = (error: unknown) =>
      reply.refuse(this.#rooms.fault(error), era, message.kind === 'request' ? message.id.raw : undefined);
    try {
      // What helps to finish the work in hand, an answer or a cancellation, is still taken.
      if (this.#draining && (message.kind === 'request' || message.kind === 'batch'))
        throw new Failure('shutting_down');
      const served = (era === 'modern' ? this.#modern : this.#legacy).receive(turn());
      served?.catch(refuse);
    } catch (error) {
      refuse(error);
    }
  }

  async #onSession(request: SessionRequest, action: (session: Session) => Promise<void>): Promise<Failure | undefined> {
    try {
      const { endpoint, header } = request;
      const session = this.#legacy.session({
        endpoint,
        principal: identify(request.credentials),
        header,
        line: undefined,
      });
      checkVersionHeader(header('mcp-protocol-version'), session.client.revision);
      await action(session);
      return undefined;
    } catch (error) {
      return this.#rooms.fault(error);
    }
  }
}

/**
 * HTTP+SSE is older than the modern era and has no place for it. On stdio what names no revision is of the era in which the
 * client began; `initialize` begins the legacy one also after a look at `server/discover`.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility
 */
function eraOn(line: LineState, message: Message | Batch): Era {
  if (line.via === 'sse') return 'legacy';
  const said = eraOf(message, undefined);
  if (said === 'modern') line.era ??= said;
  else if (message.kind === 'request' && message.method === 'initialize') line.era = said;
  return said === 'modern' ? said : (line.era ?? said);
}

/** On a line both eras cancel by name; a legacy session looks for the id itself. */
function cancelOn(line: LineState, { message }: Turn): void {
  if (message.kind !== 'notification') return;
  const cancelled = readCancelled(message);
  if (cancelled !== undefined) line.inflight.only(cancelled.id)?.cancel(cancelled.reason);
}
