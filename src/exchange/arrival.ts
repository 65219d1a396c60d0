/** What a transport hands to the gateway, and what the gateway offers to transports. */
import type { Failure } from '../errors/failure.ts';
import type { AuthContext, Credentials, Principal } from '../identity/principal.ts';
import type { RpcGate } from '../jsonrpc/ports.ts';
import type { FullProfile } from '../policy/profile.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Connection, Reply } from './outlet.ts';

/** One MCP address: a path, the backends behind it, a profile. */
export interface Endpoint {
  /** Absent: MCP. */
  readonly protocol?: 'json-rpc';
  readonly path: string;
  readonly backends: readonly string[];
  readonly profile: FullProfile;
  /** How a denial is told: as an error, with the status of HTTP, or as what does not exist. */
  readonly denials: 'error' | 'http403' | 'hide';
  readonly sessions: 'required' | 'optional';
  /** How things are called where several backends stand behind it. */
  readonly names: 'always' | 'collision' | 'never';
}

/** Reads a header by its lower-case name. A transport without headers answers undefined. */
export type HeaderReader = (name: string) => string | undefined;

/** A body that came in over HTTP POST and was readable. */
export interface Arrival {
  readonly endpoint: Endpoint;
  readonly sender: Authenticated;
  readonly header: HeaderReader;
  /** `Mcp-Param-*`, by lower-case name; absent where there are none. */
  readonly paramHeaders: Readonly<Record<string, string>> | undefined;
  readonly message: Message | Batch;
  readonly reply: Reply;
}

/** GET or DELETE of a legacy session. */
export interface SessionRequest {
  readonly endpoint: Endpoint;
  readonly sender: Authenticated;
  readonly header: HeaderReader;
}

/** Who sent a message. */
export interface Sender {
  readonly principal: Principal;
  readonly credentials: Credentials;
}

/** Who sent a request, by its headers. */
export interface Authenticated extends Sender {
  /** The generation that decided it. Under another one it is decided anew. */
  readonly asOf: object;
}

/**
 * A client with one stream for everything: HTTP+SSE and stdio. Its end is the end of the session, and what runs for it is cancelled.
 */
export interface PersistentConnection {
  /** Over HTTP+SSE every message comes with credentials of its own. Answers why they do not do for this message on this line. */
  refusal(sender: Sender, message: Message | Batch): Failure | undefined;
  /** Answers come on the line's own stream; over HTTP+SSE the transport has answered the POST itself before. */
  receive(message: Message | Batch, sender?: Sender): void;
  close(): void;
}

export interface Gateway {
  /**
   * Who sends a request. Headers are enough for that, and no byte of the body is read before. A Failure says what is wrong with
   * the credentials; `refusal` says how to tell it. Never throws or rejects.
   */
  authenticate(
    endpoint: Endpoint,
    credentials: Credentials,
  ): Authenticated | Failure | Promise<Authenticated | Failure>;
  /** How a failure of `authenticate` is told. `asked` is what was sent, as far as it could be read. */
  refusal(endpoint: Endpoint, credentials: Credentials, failure: Failure, asked: AuthContext): Failure;
  /** Never throws or rejects: what goes wrong is told through `reply`. */
  receive(arrival: Arrival): void;
  /** Records that what somebody sent cannot be served: it could not be read, or its session does not exist. */
  unread(request: Omit<SessionRequest, 'header'>, failure: Failure): void;
  /** Opens or resumes a legacy stream. Answers why not, or undefined: then `open` was called and its connection is in use. */
  listen(request: SessionRequest, open: () => Connection): Promise<Failure | undefined>;
  /** Ends a legacy session. */
  end(request: SessionRequest): Promise<Failure | undefined>;
  /**
   * Who opens a connection may be another gateway, or this one. Answers the headers that another gateway is told with, a Failure
   * for a request of our own, and undefined for everybody else.
   */
  hop(request: Omit<SessionRequest, 'sender'>): Readonly<Record<string, string>> | Failure | undefined;
  /** A client that has a connection instead of a session id. `via` decides which revisions can come. */
  connect(
    endpoint: Endpoint,
    sender: Sender,
    via: 'sse' | 'stdio',
    connection: Connection,
  ): Promise<PersistentConnection | Failure>;
  readonly draining: boolean;
  /** For endpoints of JSON-RPC services that are not MCP. */
  readonly rpc: RpcGate;
}
