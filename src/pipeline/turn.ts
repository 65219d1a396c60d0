/** One message of a client on its way in, with what is known about its sender. */
import type { Endpoint, HeaderReader } from '../exchange/arrival.ts';
import type { Inflight } from '../exchange/exchange.ts';
import type { Connection, Reply } from '../exchange/outlet.ts';
import type { Credentials, Principal } from '../identity/principal.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Session } from '../session/session.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Era } from '../wire/revisions.ts';

export interface Turn {
  /** As it was when the message came in, like the rules. */
  readonly endpoint: Endpoint;
  readonly authorizer: Authorizer;
  readonly principal: Principal;
  readonly credentials: Credentials;
  readonly message: Message | Batch;
  readonly reply: Reply;
  /** Absent where the transport has none. */
  readonly header: HeaderReader | undefined;
  /** `Mcp-Param-*`, by lower-case name. */
  readonly paramHeaders: Readonly<Record<string, string>> | undefined;
  /** Set for stdio and HTTP+SSE. */
  readonly line: ConnectionState | undefined;
}

/** What a client with a connection of its own has instead of a session id. */
export interface ConnectionState {
  readonly via: 'sse' | 'stdio';
  readonly connection: Connection;
  /** Modern requests in flight: `notifications/cancelled` names them. */
  readonly inflight: Inflight;
  /** In which the client began: what does not say its era is of this one. */
  era: Era | undefined;
  /** Set while `initialize` is being answered. */
  opening: SessionOpening | undefined;
  session: Session | undefined;
  /** The client is gone. */
  closed: boolean;
}

export interface SessionOpening {
  readonly answered: Promise<void>;
  /** Messages that wait for it. */
  waiting: number;
}
