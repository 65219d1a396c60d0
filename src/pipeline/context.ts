/**
 * The one object that belongs to one client request, from its arrival to its response. The stages fill it in, in the
 * order of its members; no stage copies it. Endpoint and authorizer come from one generation, so no request mixes two
 * configs.
 */
import type { ResolvedTarget } from '../catalog/name-resolver.ts';
import type { Endpoint, HeaderReader } from '../exchange/arrival.ts';
import type { CallRequest, ClientFacts } from '../exchange/call.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Reply } from '../exchange/outlet.ts';
import type { Credentials, Principal } from '../identity/principal.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Session } from '../session/session.ts';
import type { Batch, Message, Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { ConnectionState } from './connection-state.ts';

/** What is known when a message has arrived and its sender is authenticated. */
type Arrived = Pick<
  RequestContext,
  | 'endpoint'
  | 'authorizer'
  | 'principal'
  | 'credentials'
  | 'message'
  | 'reply'
  | 'header'
  | 'paramHeaders'
  | 'connection'
>;

export class RequestContext {
  readonly endpoint: Endpoint;
  readonly authorizer: Authorizer;
  readonly principal: Principal;
  readonly credentials: Credentials;
  readonly message: Message | Batch;
  readonly reply: Reply;
  /** Absent where the transport has no headers. */
  readonly header: HeaderReader | undefined;
  /** `Mcp-Param-*`, by lower-case name. */
  readonly paramHeaders: Readonly<Record<string, string>> | undefined;
  /** Set for stdio and HTTP+SSE. */
  readonly connection: ConnectionState | undefined;

  /** Session stage, legacy clients: absent for modern ones. */
  session: Session | undefined;
  /** Admit stage: the message, which is a request, its row of the methods table, and what it says of its client. */
  request!: Request;
  row!: MethodRow;
  client!: ClientFacts;
  logLevel: string | undefined;
  /**
   * Resolve stage: the backend, and the thing's name there. Absent where the gateway answers for all backends together.
   */
  target: ResolvedTarget | undefined;
  /** Authorize stage. A later round of the same call replaces it. */
  authorization!: Authorization;
  /** Call stage: where the answer goes, and what the backend is asked. */
  exchange!: Exchange;
  call!: CallRequest;
  /** Rounds that this request had before, where it is a retry that makes its call again. */
  rounds = 0;

  constructor(arrived: Arrived) {
    this.endpoint = arrived.endpoint;
    this.authorizer = arrived.authorizer;
    this.principal = arrived.principal;
    this.credentials = arrived.credentials;
    this.message = arrived.message;
    this.reply = arrived.reply;
    this.header = arrived.header;
    this.paramHeaders = arrived.paramHeaders;
    this.connection = arrived.connection;
  }

  /** The context of one member of this batch. */
  member(message: Message): RequestContext {
    const context = new RequestContext({ ...this, message });
    context.session = this.session;
    return context;
  }

  /** The target, where the resolve stage has found one. */
  get resolved(): ResolvedTarget {
    if (this.target === undefined) throw new TypeError('the request has no single target');
    return this.target;
  }
}
