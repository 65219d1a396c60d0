/** What a client with a connection of its own, over stdio or HTTP+SSE, has instead of a session id. */
import type { Inflight } from '../exchange/inflight.ts';
import type { Connection } from '../exchange/outlet.ts';
import type { Session } from '../session/session.ts';
import type { Era } from '../wire/revisions.ts';

export interface ConnectionState {
  readonly via: 'sse' | 'stdio';
  readonly connection: Connection;
  /** Modern requests in flight: `notifications/cancelled` names them. */
  readonly inflight: Inflight;
  /** The era in which the client began. Messages that do not name their era belong to it. */
  era: Era | undefined;
  /** Set while `initialize` is being answered. */
  opening: SessionOpening | undefined;
  session: Session | undefined;
  /** The client has disconnected. */
  closed: boolean;
}

export interface SessionOpening {
  readonly answered: Promise<void>;
  /** Messages that wait for the response to `initialize`. */
  waiting: number;
}
