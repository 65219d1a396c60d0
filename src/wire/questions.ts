/**
 * Ambiguous server requests. The gateway judges a server request by its method, `mode`, `tools` and `requestedSchema`,
 * and passes its bytes on. But to a client that matches names case-insensitively, `Mode` is `mode`, and of two members
 * with one name some readers take the first and some the last. Tool results are data and are not checked.
 */
import { type Folds, foldsOf, takenFor } from './fold.ts';
import type { Member, ObjectSpan, Request, ResultResponse, Span } from './message.ts';
import { NOTED_MEMBERS } from './outline.ts';
import { membersAt } from './skim.ts';
import { member, textMember } from './values.ts';
import { folds } from './vocabulary.ts';

/** Parameters by method, of all revisions. */
const words: Readonly<Record<string, Folds>> = {
  'elicitation/create': foldsOf(['_meta', 'elicitationId', 'message', 'mode', 'requestedSchema', 'task', 'url']),
  'sampling/createMessage': foldsOf([
    ...['_meta', 'includeContext', 'maxTokens', 'messages', 'metadata', 'modelPreferences', 'stopSequences'],
    ...['systemPrompt', 'task', 'temperature', 'toolChoice', 'tools'],
  ]),
  'roots/list': foldsOf(['_meta']),
};

const schema = foldsOf(['$schema', 'type', 'properties', 'required']);

/** The members that make a result `input_required`. */
const required = foldsOf(['resultType', 'inputRequests', 'requestState']);

/** Why the server request is ambiguous; undefined if it is not. */
export function ambiguousQuestion({ bytes, method, params }: Pick<Request, 'bytes' | 'method' | 'params'>) {
  const known = Object.hasOwn(words, method) ? words[method] : undefined;
  if (known === undefined) return undefined;
  const form = method === 'elicitation/create' ? member(params, 'requestedSchema') : undefined;
  return ambiguityIn(params, known) ?? (form && ambiguityIn(few(bytes, form), schema));
}

/** The same for a modern result and the server requests in it. */
export function ambiguousResult({ bytes, result }: ResultResponse): string | undefined {
  const ambiguity = ambiguityIn(result, required);
  const requests = member(result, 'inputRequests');
  if (ambiguity !== undefined || requests === undefined) return ambiguity;
  for (const span of few(bytes, requests)?.members ?? []) {
    const entry = few(bytes, span);
    const given = member(entry, 'params');
    const params = given && few(bytes, given);
    const method = textMember(bytes, entry, 'method') ?? '';
    const inEntry = ambiguityIn(entry, folds.message) ?? ambiguousQuestion({ bytes, method, params });
    if (inEntry !== undefined) return inEntry;
  }
  return undefined;
}

/** Whether a case-insensitive reader may take the member for one that makes a result `input_required`. */
export function isLikeQuestion(key: string): boolean {
  return takenFor(required, key) !== undefined;
}

/** An object with more members than a server request needs is refused before it costs memory. Throws a Failure. */
function few(bytes: Uint8Array, span: Span): ObjectSpan | undefined {
  return membersAt(bytes, span, NOTED_MEMBERS);
}

function ambiguityIn(object: ObjectSpan | undefined, known: Folds): string | undefined {
  const members: readonly Member[] = object?.members ?? [];
  for (const [index, { key }] of members.entries()) {
    const word = takenFor(known, key);
    if (word !== undefined) return `${key} differs from ${word} in case alone`;
    if (known.exact.has(key) && members.findIndex((other) => other.key === key) < index) return `${key} is there twice`;
  }
  return undefined;
}
