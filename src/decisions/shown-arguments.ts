/** The arguments in a question: byte for byte as the client spelled them, without its secrets. */
import { isSecretName, STARS } from '../observe/audit-redact.ts';
import { type AuthorizationRequest, argumentsAt, hasTooManyValues } from '../policy/authorization-request.ts';
import { type Edit, splice } from '../wire/compose.ts';
import type { Span } from '../wire/message.ts';
import { elementsAt, membersAt } from '../wire/skim.ts';
import { DecisionFault } from './fault.ts';
import { QUESTION_BYTES } from './transport.ts';

/** Deeper than anyone reads. Values below are not shown. */
const DEPTH = 32;
const starred = JSON.stringify(STARS);

/**
 * JSON text; undefined where there are none. Numbers stay as they are spelled: a decision point must not judge another
 * number than the one that the backend gets.
 */
export function shownArguments(request: AuthorizationRequest): string | undefined {
  const given = argumentsAt(request);
  if (given === undefined) return undefined;
  const { bytes, span } = given;
  if (span.end - span.start > QUESTION_BYTES || hasTooManyValues(given)) throw new DecisionFault('question_too_large');
  const own = bytes.subarray(span.start, span.end);
  return splice(own, secretsIn(own, { start: 0, end: own.byteLength }, 0)).toString('utf8');
}

function secretsIn(bytes: Uint8Array, span: Span, depth: number): readonly Edit[] {
  const members = membersAt(bytes, span)?.members;
  const within = members ?? elementsAt(bytes, span) ?? [];
  if (within.length > 0 && depth >= DEPTH) return [{ span, with: starred }];
  const isSecret = (one: Span & { readonly key?: string }) => one.key !== undefined && isSecretName(one.key);
  return within.flatMap((one) => (isSecret(one) ? [{ span: one, with: starred }] : secretsIn(bytes, one, depth + 1)));
}
