/** One request, in the form that policy decides about. */
import { targetOf } from '../catalog/requests.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Ending } from '../exchange/exchange.ts';
import type { Principal } from '../identity/principal.ts';
import type { AuditedSender, RecordedDecision } from '../observe/audit.ts';
import type { Message, Request, Span } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { hasMoreThan, member, textMember, valueAt } from '../wire/values.ts';
import type { GivenApproval } from './approval.ts';
import type { OpenRecord } from './audit-trail.ts';
import type { Authorizer } from './authorizer.ts';
import type { Permit } from './permit.ts';
import type { Operation, PolicyQuestion, Thing } from './question.ts';
import type { Admission } from './rates.ts';
import type { Denied } from './refusals.ts';
import type { Ruling } from './ruling.ts';
import type { WithheldAuthorization } from './withheld.ts';

export interface AuthorizationRequest {
  /**
   * The principal of this message: a refreshed token may have different claims than the one that opened the session.
   */
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  readonly row: Operation;
  /** Empty where the request is for all backends of the endpoint. */
  readonly backend: string;
  readonly revision: string | undefined;
  readonly message?: Message | undefined;
  readonly thing?: Thing | undefined;
  readonly annotations?: (() => unknown) | undefined;
  /** Set where pins hold what the request names. */
  readonly held?: Denied | undefined;
  /** For the audit record. */
  readonly sender?: AuditedSender | undefined;
  /** Where the arguments are, if they are not those of `message`. */
  readonly argumentsAt?: JsonAt | undefined;
}

/** A JSON value within the bytes of a message. */
export interface JsonAt {
  readonly bytes: Uint8Array;
  readonly span: Span;
}

export interface Authorization {
  readonly permit: Permit;
  /** Set where a person has to approve the request first: until then there is no permit. */
  readonly withheld?: WithheldAuthorization | undefined;
  /** Set where a person has approved the request. */
  readonly approval?: GivenApproval | undefined;
  /** The authorizer that allowed the request. It also decides what is shown of the response. */
  readonly authorizer: Authorizer;
  /** Adds what decision points answered about the response to the record. Absent where there is no record. */
  decided?(decisions: readonly RecordedDecision[]): void;
  /** Must be called once, when what was allowed is over. Absent where nothing depends on that. */
  over?(ending: Ending): void;
}

/** How a request was decided, whether or not it waits for an approval. */
export function decidedRuling(authorization: Authorization): Ruling | undefined {
  const { withheld } = authorization;
  return withheld === undefined ? authorization.permit.ruling : withheld.ruling;
}

/** What was allowed until it is over: its place in the rates, and its record. */
export class WatchedAuthorization implements Authorization {
  readonly permit: Permit;
  readonly authorizer: Authorizer;
  readonly #admission: Admission | undefined;
  readonly #record: OpenRecord | undefined;

  constructor(
    permit: Permit,
    authorizer: Authorizer,
    admission: Admission | undefined,
    record: OpenRecord | undefined,
  ) {
    this.permit = permit;
    this.authorizer = authorizer;
    this.#admission = admission;
    this.#record = record;
  }

  decided(decisions: readonly RecordedDecision[]): void {
    this.#record?.decided(decisions);
  }

  over(ending: Ending): void {
    this.#admission?.release();
    this.#record?.end(ending);
  }
}

/** The question that a request puts to the rules. */
export class RequestQuestion implements PolicyQuestion {
  readonly principal: Principal;
  readonly row: Operation;
  readonly endpoint: string;
  readonly backend: string;
  readonly thing: Thing | undefined;
  readonly annotations: (() => unknown) | undefined;
  readonly #request: AuthorizationRequest;

  constructor(request: AuthorizationRequest) {
    this.principal = request.principal;
    this.row = request.row;
    this.endpoint = request.endpoint.path;
    this.backend = request.backend;
    this.thing = request.thing;
    this.annotations = request.annotations;
    this.#request = request;
  }

  arguments(): unknown {
    return argumentsOf(this.#request);
  }
}

/** Undefined where there are none. */
export function argumentsOf(request: AuthorizationRequest): unknown {
  const given = argumentsAt(request);
  if (given === undefined) return undefined;
  return hasTooManyValues(given)
    ? 'the arguments have too many values for the policy to check'
    : valueAt(given.bytes, given.span);
}

/** The arguments as the client spelled them. Undefined where there are none. */
export function argumentsAt({
  message,
  argumentsAt: own,
}: Pick<AuthorizationRequest, 'message' | 'argumentsAt'>): JsonAt | undefined {
  if (own !== undefined || message?.kind !== 'request') return own;
  const span = member(message.params, 'arguments');
  return span && { bytes: message.bytes, span };
}

/**
 * More values than a person or a model puts into one call. Parsing a hundred thousand values, and folding their names,
 * takes half a second.
 */
const MOST_VALUES = 16_384;

/** Such arguments cannot be judged: deny rules apply to them, and allow rules do not. */
export function hasTooManyValues({ bytes, span }: JsonAt): boolean {
  return hasMoreThan(MOST_VALUES, bytes, span);
}

/**
 * The thing that a request names, where nothing is renamed. Throws where the method needs a name and the request has
 * none, because no rule could judge it.
 */
export function namedThing(row: MethodRow, message: Request): Thing | undefined {
  if (row.name === undefined || row.name === 'taskId') return undefined;
  const target = targetOf(message, row);
  if (target === undefined) throw new Failure('invalid_params', { message: `${row.name} is required` });
  return { kind: kindOf(row, target.kind), name: target.text };
}

/** A completion refers to a template, which stands for every resource that it can produce. */
export function kindOf(row: MethodRow, kind: 'tool' | 'prompt' | 'resource'): Thing['kind'] {
  return kind === 'resource' && row.name === 'ref' ? 'template' : kind;
}

/**
 * The id of the trace that is exported, or else of the one that the client names, in `_meta` or in the HTTP header.
 * https://www.w3.org/TR/trace-context/#traceparent-header
 */
export function traceOf(message: Message | undefined, sender?: AuditedSender): string | undefined {
  if (sender?.trace !== undefined) return sender.trace.traceId;
  const own = message !== undefined && 'meta' in message ? message.meta : undefined;
  const text = (own && message && textMember(message.bytes, own, 'traceparent')) ?? sender?.traceparent;
  return text === undefined ? undefined : /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(text)?.[1];
}
