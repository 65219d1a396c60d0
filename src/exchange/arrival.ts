/** What a transport hands to the gateway, and what the gateway offers to transports. */
import type { BackendOverrides } from '../catalog/overrides/settings.ts';
import type { Failure } from '../errors/failure.ts';
import type { AuthContext, Credentials, Principal } from '../identity/principal.ts';
import type { RpcGate } from '../jsonrpc/ports.ts';
import type { Generation } from '../pipeline/generation.ts';
import type { FullProfile } from '../policy/profile.ts';
import type { ExtensionChoices } from '../wire/extensions.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Connection, Reply } from './outlet.ts';

/** One address that the gateway serves: a path, the backends behind it, a profile. */
export interface Endpoint {
  /** Absent: MCP. */
  readonly protocol?: 'json-rpc';
  readonly path: string;
  readonly backends: readonly string[];
  readonly profile: FullProfile;
  /** How a denial is reported: as an error, by the HTTP status 403, or as if the thing did not exist. */
  readonly denials: 'error' | 'http403' | 'hide';
  readonly sessions: 'required' | 'optional';
  /** When names get their backend's prefix, where several backends stand behind the endpoint. */
  readonly names: 'always' | 'collision' | 'never';
  /** What the config says of extensions. Absent: nothing, so those that the gateway knows are carried. */
  readonly extensions?: ExtensionChoices | undefined;
  /** What the config changes of tools and prompts. Absent: nothing. */
  readonly overrides?: readonly BackendOverrides[] | undefined;
  /** How much of its tools is listed, in tokens. Absent: all of it. */
  readonly budget?: { readonly tokens: number } | undefined;
  /** The gateway waits for tasks in the place of modern clients without tasks, as it does for legacy ones. */
  readonly tasks?: 'poll' | undefined;
  /** What becomes of clients' trace context, where the config says so. */
  readonly traces?: 'parent' | 'link' | 'none' | undefined;
}

/** Reads a header by its lower-case name. Returns undefined where the transport has no headers. */
export type HeaderReader = (name: string) => string | undefined;

/** A request whose sender is authenticated by its headers. */
export interface SentRequest {
  readonly endpoint: Endpoint;
  /** Replaced where a reload came while the body was read. */
  sender: Authenticated;
}

/** A readable body that came in over HTTP POST. */
export interface Arrival extends SentRequest {
  readonly header: HeaderReader;
  /** `Mcp-Param-*`, by lower-case name; absent where there are none. */
  readonly paramHeaders: Readonly<Record<string, string>> | undefined;
  readonly message: Message | Batch;
  readonly reply: Reply;
  /** `X-Request-Id`, as the response carries it. */
  readonly requestId: string | undefined;
}

/** GET or DELETE of a legacy session. */
export interface SessionRequest extends Readonly<SentRequest> {
  readonly header: HeaderReader;
}

/** Who sent a message. */
export interface Sender {
  readonly principal: Principal;
  readonly credentials: Credentials;
}

/** The sender of a request, authenticated by its headers. */
export interface Authenticated extends Sender {
  /** The generation that authenticated the sender, and serves the request. */
  readonly generation: Generation;
}

/**
 * A client with one stream for everything: HTTP+SSE and stdio. When the connection ends, its session ends and its
 * running requests are cancelled.
 */
export interface PersistentConnection {
  /** Over HTTP+SSE every message has its own credentials. Returns why they are not sufficient for this message here. */
  refusal(sender: Sender, message: Message | Batch): Failure | undefined;
  /** Responses go to the connection's stream. Over HTTP+SSE the transport has already answered the POST itself. */
  receive(message: Message | Batch, sender?: Sender): void;
  close(): void;
}

/** Which sessions are in this process, for gateways that have several processes. */
export interface SessionPlaces {
  has(id: string): boolean;
  readonly ids: readonly string[];
  /** What the id of a session says that is not here. Undefined where it says nothing. */
  openedBy(request: SessionRequest): SessionOrigin | undefined;
  /** Whether this is an answer or a cancellation of something that waits here. */
  awaits(id: string, message: Message | Batch): boolean;
  /** Whether another process may go on with the session: nothing of it is lost with a backend's process. */
  canMove(id: string): Promise<boolean>;
  /** The same for a session that is not here. */
  canTake(request: SentRequest): Promise<boolean>;
  /** The session goes on in another process. */
  release(id: string): void;
  /**
   * Before a session ends because it is idle, `isElsewhere` is asked whether another process has taken it over. One of
   * which that is not known (undefined) is asked about again later.
   */
  askBeforeExpiry(isElsewhere: (id: string) => Promise<boolean | undefined>): void;
  /** Until when a session that is here may live, in milliseconds since 1970. Undefined: only this process has it. */
  untilOf(id: string): number | undefined;
  /** A shutdown waits for it. */
  busyUntil(done: Promise<unknown>): void;
}

export interface SessionOrigin {
  /** The process that opened it. */
  readonly member: string;
  /** Until when it may live, in milliseconds since 1970. Undefined: only that process can serve it. */
  readonly until: number | undefined;
}

export interface Gateway {
  /**
   * Authenticates a sender by the headers alone: no byte of the body is read before. Returns a Failure that says what
   * is wrong with the credentials; `refusal` makes the response of it. Never throws or rejects.
   */
  authenticate(
    endpoint: Endpoint,
    credentials: Credentials,
  ): Authenticated | Failure | Promise<Authenticated | Failure>;
  /** The failure to answer with after `authenticate` failed. `asked` is what was sent, as far as it could be read. */
  refusal(endpoint: Endpoint, credentials: Credentials, failure: Failure, asked: AuthContext): Failure;
  /** Never throws or rejects: failures are reported through `reply`. */
  receive(arrival: Arrival): void;
  /** Records a request that cannot be served because it could not be read, or its session does not exist. */
  unread(request: Omit<SessionRequest, 'header'>, failure: Failure): void;
  /**
   * Opens or resumes a legacy stream. Returns why not, or undefined: then `open` was called and its connection is in
   * use.
   */
  listen(request: SessionRequest, open: () => Connection): Failure | undefined | Promise<Failure | undefined>;
  /** Sessions as other processes of this gateway see them. */
  readonly places: SessionPlaces;
  /** The process that has the pending call which a retry names. */
  memberOfRetry(arrival: Pick<Arrival, 'endpoint' | 'sender' | 'message'>): string | undefined;
  /** Ends a legacy session. */
  end(request: SessionRequest): Promise<Failure | undefined>;
  /**
   * The sender that opens a connection may be a different gateway, or this one. Returns the response headers for a
   * different gateway, a Failure for a request that this gateway sent itself, and undefined for every other sender.
   */
  hop(request: Omit<SessionRequest, 'sender'>): Readonly<Record<string, string>> | Failure | undefined;
  /** Connects a client that has a connection instead of a session id. `via` decides which revisions are possible. */
  connect(
    endpoint: Endpoint,
    sender: Sender,
    via: 'sse' | 'stdio',
    connection: Connection,
  ): Promise<PersistentConnection | Failure>;
  /** True while shutting down: new requests are refused, but messages that complete open ones are accepted. */
  readonly draining: boolean;
  /** For endpoints of JSON-RPC services that are not MCP. */
  readonly rpc: RpcGate;
}
