/** What somebody wants to do, as policy is asked it. */
import { targetOf } from '../catalog/requests.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Ending } from '../exchange/exchange.ts';
import type { Principal } from '../identity/principal.ts';
import type { Message, Request, Span } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { hasMoreThan, member, stringAt, valueAt } from '../wire/values.ts';
import type { Authorizer } from './authorizer.ts';
import type { Permit } from './permit.ts';
import type { Operation, PolicyQuestion, Thing } from './question.ts';

export interface AuthorizationRequest {
  /** Of this very message: a refreshed token may say something else than the one that opened the session. */
  readonly principal: Principal;
  readonly endpoint: Endpoint;
  readonly row: Operation;
  /** Empty where all of the endpoint are meant. */
  readonly backend: string;
  readonly revision: string | undefined;
  readonly message?: Message | undefined;
  readonly thing?: Thing | undefined;
  readonly annotations?: (() => unknown) | undefined;
  /** Where they are not those of `message`. */
  readonly arguments?: (() => unknown) | undefined;
}

export interface Authorization {
  readonly permit: Permit;
  /** Whose it is: what is shown of the answer is decided by the same rules. */
  readonly authorizer: Authorizer;
  /** To be called once, when what was allowed is over. Absent where nobody wants to know. */
  readonly over?: ((ending: Ending) => void) | undefined;
  /** The same wish in another round of the call, decided anew by the rules of that moment. Throws, or rejects with, a Failure where it is a no. */
  readonly again?: (() => Authorization | Promise<Authorization>) | undefined;
}

export function policyQuestionOf(authorizationRequest: AuthorizationRequest): PolicyQuestion {
  const { principal, endpoint, row, backend, thing, annotations } = authorizationRequest;
  return {
    principal,
    row,
    endpoint: endpoint.path,
    backend,
    thing,
    annotations,
    arguments: argumentsIn(authorizationRequest),
  };
}

/** What looks them up, where there are any. */
export function argumentsIn({ message, arguments: own }: AuthorizationRequest): (() => unknown) | undefined {
  return own ?? (message?.kind === 'request' ? () => argumentsOf(message) : undefined);
}

function argumentsOf({ bytes, params }: Request): unknown {
  const span = member(params, 'arguments');
  return span && judgedAt(bytes, span);
}

/** More than a person or a model puts into one call. To parse a hundred thousand of them, and fold their names, takes half a second. */
const MOST_VALUES = 16_384;

/** What rules look at. Something that is no object cannot be judged: rules that deny apply, and rules that allow do not. */
export function judgedAt(bytes: Uint8Array, span: Span): unknown {
  return hasMoreThan(MOST_VALUES, bytes, span) ? 'too many values to be looked at' : valueAt(bytes, span);
}

/** What a request names where nothing is renamed. Throws where its method needs a name and it has none: nobody could judge it. */
export function namedThing(row: MethodRow, message: Request): Thing | undefined {
  if (row.name === undefined || row.name === 'taskId') return undefined;
  const target = targetOf(message, row);
  if (target === undefined) throw new Failure('invalid_params', { message: `${row.name} is required` });
  return { kind: kindOf(row, target.kind), name: target.text };
}

/** Completions speak of templates, which stand for all that may come out of them. */
export function kindOf(row: MethodRow, kind: 'tool' | 'prompt' | 'resource'): Thing['kind'] {
  return kind === 'resource' && row.name === 'ref' ? 'template' : kind;
}

/** https://www.w3.org/TR/trace-context/#traceparent-header, in the place that the protocol has for it. */
export function traceOf(message: Message | undefined): string | undefined {
  if (message === undefined || !('meta' in message)) return undefined;
  const span = member(message.meta, 'traceparent');
  const text = span && stringAt(message.bytes, span);
  return text === undefined ? undefined : /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(text)?.[1];
}
