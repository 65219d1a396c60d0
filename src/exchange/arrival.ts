/** What a transport hands to the gateway, and what the gateway offers to transports. */
import type { Failure } from '../errors.ts';
import type { Credentials, Principal } from '../identity/principal.ts';
import type { FullProfile } from '../policy/profile.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Connection, Reply } from './outlet.ts';
import type { RpcGate } from './rpc.ts';

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
  readonly credentials: Credentials;
  readonly header: HeaderReader;
  /** `Mcp-Param-*`, by lower-case name; absent where there are none. */
  readonly paramHeaders: Readonly<Record<string, string>> | undefined;
  readonly message: Message | Batch;
  readonly reply: Reply;
}

/** GET or DELETE of a legacy session. */
export interface SessionRequest {
  readonly endpoint: Endpoint;
  readonly credentials: Credentials;
  readonly header: HeaderReader;
}

/**
 * A client with one stream for everything: HTTP+SSE and stdio. Its end is the end of the session, and what runs for it is cancelled.
 */
/** Who sent one message on a line. */
export interface Sender {
  readonly principal: Principal;
  readonly credentials: Credentials;
}

export interface Line {
  /** Over HTTP+SSE every message comes with credentials of its own, and is decided by those. */
  admits(credentials: Credentials, message: Message | Batch): Failure | Sender | Promise<Failure | Sender>;
  /** Answers come on the line's own stream; over HTTP+SSE the transport has answered the POST itself before. */
  receive(message: Message | Batch, sender?: Sender): void;
  close(): void;
}

export interface Gateway {
  /** Never throws or rejects: what goes wrong is told through `reply`. */
  receive(arrival: Arrival): void;
  /**
   * What cannot be served, because it could not be read or, where there is a `message`, because nobody is there for it: what
   * to say of it, which to somebody unknown is that they are unknown.
   */
  unread(request: SessionRequest, failure: Failure, message?: Message | Batch): Failure | Promise<Failure>;
  /** Opens or resumes a legacy stream. Answers why not, or undefined: then `open` was called and its connection is in use. */
  listen(request: SessionRequest, open: () => Connection): Promise<Failure | undefined>;
  /** Ends a legacy session. */
  end(request: SessionRequest): Promise<Failure | undefined>;
  /** A client that has a connection instead of a session id. `via` decides which revisions can come. */
  connect(
    endpoint: Endpoint,
    credentials: Credentials,
    via: 'sse' | 'stdio',
    connection: Connection,
  ): Promise<Line | Failure>;
  readonly draining: boolean;
  /** For endpoints of JSON-RPC services that are not MCP. */
  readonly rpc: RpcGate;
}
