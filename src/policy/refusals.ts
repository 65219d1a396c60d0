/** The failures that report a denial, in the endpoint's style. */
import { targetOf } from '../catalog/requests.ts';
import { Failure } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import { methodRow } from '../wire/methods.ts';
import { era, isRevision } from '../wire/revisions.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Thing } from './question.ts';
import type { RateExceeded } from './rates.ts';
import type { Denial } from './ruling.ts';

/** A denial. It applies to every member of a batch, and ends a pending call. */
export class Denied extends Failure {
  /** The rules that denied it. Where the client is not told of the denial, the cause has them. */
  get rules(): readonly string[] | undefined {
    const { data } = this.cause instanceof Failure ? this.cause : this;
    return Array.isArray(data?.rules) ? data.rules : undefined;
  }
}

interface DeniedRequest extends Pick<AuthorizationRequest, 'row' | 'thing' | 'message' | 'revision'> {
  readonly endpoint: Pick<Endpoint, 'denials'>;
}

export function denied({ failure }: Denial, refused: DeniedRequest): Denied {
  return asDenied(failure, refused);
}

/** A decision point denied it, or could not decide. */
export function deniedOutside(failure: Failure, refused: DeniedRequest): Denied {
  return asDenied(failure, refused);
}

/** Where the client is not told of the denial, its cause still has the rules, for observers. */
function asDenied(cause: Failure, refused: DeniedRequest): Denied {
  const { endpoint, row, thing, revision } = refused;
  const { reason, data = {} } = cause;
  if (endpoint.denials === 'http403' && reason === 'policy_denied')
    return new Denied(reason, { data, http: { status: 403 } });
  if (endpoint.denials !== 'hide' || row.kind === 'notification') return new Denied(reason, { data });
  if (row.action === 'task') return new Denied('unknown_task', { cause });
  const name = typedName(refused) ?? thing?.name;
  if (thing !== undefined && thing.kind !== 'method' && name !== undefined) {
    const { reason, message, data: told } = unknownThing(thing.kind, name);
    return new Denied(reason, { message, cause, ...(told && { data: told }) });
  }
  const isModern = isRevision(revision) && era(revision) === 'modern';
  return new Denied(isModern ? 'method_removed' : 'method_not_found', { cause, data: { method: row.method } });
}

/** The name as the client sent it. The catalog's name would reveal that the target exists, and what it is called. */
function typedName({ row, message }: DeniedRequest): string | undefined {
  const known = message?.kind === 'request' ? methodRow(row.method) : undefined;
  return known && message?.kind === 'request' ? targetOf(message, known)?.text : undefined;
}

/** The same failure for a target that does not exist and for a hidden one. */
export function unknownThing(kind: Thing['kind'], name: string): Failure {
  if (kind === 'resource' || kind === 'template') return new Failure('resource_not_found', { data: { uri: name } });
  return new Failure('invalid_params', { message: `Unknown ${kind}: ${name}`, data: { name } });
}

export function limited({ limit, retryAfterMs }: RateExceeded): Denied {
  // RFC 9110, 10.2.3: whole seconds.
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1_000));
  return new Denied('rate_limited', {
    data: { limit, retryAfterMs },
    http: { headers: { 'Retry-After': String(seconds) } },
  });
}
