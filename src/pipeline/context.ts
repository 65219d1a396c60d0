/**
 * The one object that belongs to one client request, from its arrival to its response. The stages fill it in, in the
 * order of its members; no stage copies it. Endpoint and authorizer come from one generation, so no request mixes two
 * configs.
 */
import type { ResolvedTarget } from '../catalog/resolved-target.ts';
import type { Endpoint, HeaderReader, Sender } from '../exchange/arrival.ts';
import type { CallRequest, ClientFacts } from '../exchange/call.ts';
import type { Exchange, ExchangeObserver } from '../exchange/exchange.ts';
import type { CallOrigin, MessageEnding, MessageObserver } from '../exchange/observer.ts';
import type { Reply } from '../exchange/outlet.ts';
import type { Trace } from '../exchange/trace.ts';
import type { Credentials, Principal } from '../identity/principal.ts';
import { type AuditedSender, sessionTag } from '../observe/audit.ts';
import { clientName } from '../observe/client-names.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import type { Session } from '../session/session.ts';
import type { Batch, Message, Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Era } from '../wire/revisions.ts';
import type { ConnectionState } from './connection-state.ts';
import type { Generation } from './generation.ts';
import type { Listen } from './modern-listens.ts';
import type { SharedServices } from './services.ts';

/** A message as its transport brings it. */
export interface ArrivedMessage {
  readonly message: Message | Batch;
  readonly reply: Reply;
  /** Absent where the transport has no headers. */
  readonly header?: HeaderReader | undefined;
  /** `Mcp-Param-*`, by lower-case name. */
  readonly paramHeaders?: Readonly<Record<string, string>> | undefined;
  /** Set for stdio and HTTP+SSE. */
  readonly connection?: ConnectionState | undefined;
  /** `X-Request-Id` of the HTTP request. */
  readonly requestId?: string | undefined;
}

export class RequestContext implements ExchangeObserver, CallOrigin, AuditedSender {
  /** Decides everything about the request, whatever a reload brings meanwhile. */
  readonly generation: Generation;
  readonly endpoint: Endpoint;
  /** The client's. */
  readonly era: Era;
  readonly authorizer: Authorizer;
  readonly principal: Principal;
  readonly credentials: Credentials;
  readonly message: Message | Batch;
  readonly reply: Reply;
  readonly header: HeaderReader | undefined;
  /** Of modern clients. */
  readonly paramHeaders: Readonly<Record<string, string>> | undefined;
  readonly connection: ConnectionState | undefined;
  readonly requestId: string | undefined;

  /** Absent where traces are not configured. */
  trace: Trace | undefined;
  /** Session stage, legacy clients: absent for modern ones. */
  session: Session | undefined;
  /** Admit stage: the message, which is a request, its row of the methods table, and what it says of its client. */
  request!: Request;
  row!: MethodRow;
  client!: ClientFacts;
  logLevel: string | undefined;
  /** Set for `subscriptions/listen`, which is authorized part by part before the resolve stage. */
  listen: Listen | undefined;
  /**
   * Resolve stage: the backend, and the thing's name there. Absent where the gateway answers for all backends together.
   */
  target: ResolvedTarget | undefined;
  /** Authorize stage. A later round of the same call replaces it. */
  authorization!: Authorization;
  /** Open stage: where the response goes. Absent where a response is given without a call. */
  exchange!: Exchange;
  /** Call stage: what the backend is asked. */
  call!: CallRequest;
  /** Set while the message is observed. */
  observer: MessageObserver<RequestContext> | undefined;
  /** When the message was taken, on the clock of the gateway. Set where it is observed. */
  startedAt = 0;
  upstreamMs = 0;
  upstreamCalls = 0;
  /** Rounds that this request had before, where it is a retry that makes its call again. */
  rounds = 0;

  constructor(generation: Generation, endpoint: Endpoint, era: Era, sender: Sender, arrived: ArrivedMessage) {
    this.generation = generation;
    this.endpoint = endpoint;
    this.era = era;
    this.authorizer = generation.authorizer;
    this.principal = sender.principal;
    this.credentials = sender.credentials;
    this.message = arrived.message;
    this.reply = arrived.reply;
    this.header = arrived.header;
    this.paramHeaders = era === 'modern' ? arrived.paramHeaders : undefined;
    this.connection = arrived.connection;
    this.requestId = arrived.requestId;
  }

  /** The context of one member of this batch. */
  member(message: Message): RequestContext {
    const { reply, header, paramHeaders, connection, requestId } = this;
    const arrived = { message, reply, header, paramHeaders, connection, requestId };
    const context = new RequestContext(this.generation, this.endpoint, this.era, this, arrived);
    context.session = this.session;
    return context;
  }

  /** Few traces are exported, and observing costs more than not being observed. */
  observe({ observer, sampledObserver }: Pick<SharedServices, 'observer' | 'sampledObserver'>, now: number): void {
    this.observer = this.trace?.isSampled === true ? sampledObserver : observer;
    this.startedAt = now;
    this.observer?.began(this);
  }

  acknowledged(): void {
    this.observer?.acknowledged?.(this);
  }

  /** Tells the observer, once. */
  ended(ending: MessageEnding): void {
    const { observer } = this;
    this.observer = undefined;
    observer?.ended(this, ending);
  }

  /** Absent over stdio, and where the connection is closed already. */
  get address(): string | undefined {
    const { credentials, generation } = this;
    return credentials === 'local' ? undefined : generation.addresses.of(credentials) || undefined;
  }

  get clientName(): string | undefined {
    return clientName((this.session?.client ?? this.client)?.info);
  }

  get sessionTag(): string | undefined {
    return this.session && sessionTag(this.session.id);
  }

  get traceparent(): string | undefined {
    return this.header?.('traceparent');
  }

  /** The target, where the resolve stage has found one. */
  get resolved(): ResolvedTarget {
    if (this.target === undefined) throw new TypeError('the request has no single target');
    return this.target;
  }
}
