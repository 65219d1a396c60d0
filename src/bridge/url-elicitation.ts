/**
 * -32042 of 2025-11-25: the call is over, and may be repeated after the user has visited some pages. The modern era
 * asks for the same with `input_required`.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
 */

import { ambiguousQuestion } from '../wire/ambiguity.ts';
import { rewrite } from '../wire/compose.ts';
import type { ErrorResponse, Request } from '../wire/message.ts';
import { elementsAt, membersAt } from '../wire/skim.ts';
import { member, stringAt, textMember } from '../wire/values.ts';
import { errorCode, URL_ELICITATION_REQUIRED } from './era-translation.ts';
import { type InputQuestion, isLegacyAskMember } from './input-required.ts';

/** The keys of these input requests to a modern client, and of its answers. */
const visitKey = /^visit-\d+$/;

/** Undefined where the error means something else, or does not name its pages. */
export function requiredVisits(message: ErrorResponse): readonly InputQuestion[] | undefined {
  const elicitations = errorCode(message) === URL_ELICITATION_REQUIRED ? elicitationsOf(message) : undefined;
  if (elicitations === undefined || elicitations.length === 0) return undefined;
  const { bytes } = message;
  const questions = elicitations.flatMap((span, index): InputQuestion[] => {
    const object = membersAt(bytes, span);
    const text = (key: string) => textMember(bytes, object, key);
    if (object === undefined || text('mode') !== 'url' || text('url') === undefined || text('message') === undefined)
      return [];
    // Readers would differ in what is asked; the client gets the error as it is.
    if (ambiguousQuestion({ bytes, method: 'elicitation/create', params: object }) !== undefined) return [];
    const params = rewrite(bytes, object, { drop: isLegacyAskMember });
    return [{ key: `visit-${index + 1}`, method: 'elicitation/create', params }];
  });
  return questions.length === elicitations.length ? questions : undefined;
}

/** The elicitation ids in the error. */
export function visitIds(message: ErrorResponse): readonly string[] {
  if (errorCode(message) !== URL_ELICITATION_REQUIRED) return [];
  const { bytes } = message;
  return (elicitationsOf(message) ?? []).flatMap(
    (span) => textMember(bytes, membersAt(bytes, span), 'elicitationId') ?? [],
  );
}

/** Whether the user declined one of the pages. */
export function declinedVisit({ bytes, params }: Request): boolean {
  const responses = member(params, 'inputResponses');
  const answers = (responses && membersAt(bytes, responses)?.members) ?? [];
  return answers.some((answer) => {
    const action = visitKey.test(answer.key) ? member(membersAt(bytes, answer), 'action') : undefined;
    return action !== undefined && stringAt(bytes, action) !== 'accept';
  });
}

function elicitationsOf({ bytes, error }: ErrorResponse) {
  const data = member(error, 'data');
  const elicitations = data && member(membersAt(bytes, data), 'elicitations');
  return elicitations && elementsAt(bytes, elicitations);
}
