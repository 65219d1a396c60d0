/**
 * Members deeper in a message than the outline that decisions depend on, and that readers could interpret differently.
 * A client that matches names case-insensitively takes `Mode` for `mode`, and of two members with one name some readers
 * take the first and some the last.
 *
 *   requests          the `ref` of a `completion/complete` and the filter of a `subscriptions/listen`
 *   server requests   the gateway judges `method`, `mode`, `tools` and `requestedSchema`, and passes on the bytes
 *
 * Tool results are data and are not checked.
 */
import { Failure } from '../errors/failure.ts';
import { type Folds, foldsOf, takenFor } from './fold.ts';
import type { ObjectSpan, Request, ResultResponse, Span } from './message.ts';
import { NOTED_MEMBERS } from './outline.ts';
import { membersAt } from './skim.ts';
import { member, textMember } from './values.ts';
import { folds, vocabulary } from './vocabulary.ts';

/** The check of a request, by method. Throws a `Failure`. */
export const referenceChecks: ReadonlyMap<string, (request: Request) => void> = new Map([
  ['completion/complete', checkRef],
  ['subscriptions/listen', (request) => void checkedMembers(request, 'notifications')],
]);

/** By type of reference, the member that only the other type has. */
const stray: ReadonlyMap<string | undefined, string> = new Map([
  ['ref/prompt', 'uri'],
  ['ref/resource', 'name'],
]);

function checkRef(request: Request): void {
  const ref = checkedMembers(request, 'ref');
  const type = textMember(request.bytes, ref, 'type');
  const other = stray.get(type);
  if (other === undefined || member(ref, other) === undefined) return;
  throw new Failure('ambiguous_json', { message: `${type} must not have ${other}`, id: request.id.raw });
}

function checkedMembers({ bytes, params, id }: Request, key: 'ref' | 'notifications'): ObjectSpan | undefined {
  const span = member(params, key);
  if (span === undefined) return undefined;
  let object: ObjectSpan | undefined;
  try {
    object = few(bytes, span);
  } catch {
    // The grammar was checked before, so the only possible failure is too many members.
    throw new Failure('too_many_members', { id: id.raw, data: { offset: span.start } });
  }
  for (const { key: name } of object?.members ?? []) {
    const word = takenFor(folds[key], name);
    if (word === undefined) continue;
    throw new Failure('ambiguous_json', { message: `${name} differs from ${word} only in case`, id: id.raw });
  }
  return object;
}

/** The parameters of server requests by method, of all revisions. */
const asked: ReadonlyMap<string, Folds> = new Map([
  ['elicitation/create', foldsOf(['_meta', 'elicitationId', 'message', 'mode', 'requestedSchema', 'task', 'url'])],
  [
    'sampling/createMessage',
    foldsOf([
      ...['_meta', 'includeContext', 'maxTokens', 'messages', 'metadata', 'modelPreferences', 'stopSequences'],
      ...['systemPrompt', 'task', 'temperature', 'toolChoice', 'tools'],
    ]),
  ],
  ['roots/list', foldsOf(['_meta'])],
]);

const schema = foldsOf(['$schema', 'type', 'properties', 'required']);

/** The members that make a result `input_required`. */
const required = foldsOf(['resultType', 'inputRequests', 'requestState']);

/** Why the server request is ambiguous; undefined if it is not. */
export function ambiguousQuestion({ bytes, method, params }: Pick<Request, 'bytes' | 'method' | 'params'>) {
  const known = asked.get(method);
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

const onlyWord = new Map<string, Folds>();

/** Why readers may find different values under this name; undefined where they do not. */
export function ambiguousMember(object: ObjectSpan | undefined, name: string): string | undefined {
  let known = onlyWord.get(name);
  if (known === undefined) {
    known = foldsOf([name]);
    onlyWord.set(name, known);
  }
  return ambiguityIn(object, known);
}

/** Whether a case-insensitive reader may take the member for one that makes a result `input_required`. */
export function isLikeQuestion(key: string): boolean {
  return takenFor(required, key) !== undefined;
}

/** An object with more members than a server request needs is refused before it costs memory. Throws a `Failure`. */
function few(bytes: Uint8Array, span: Span): ObjectSpan | undefined {
  return membersAt(bytes, span, NOTED_MEMBERS);
}

/** No word of the protocol folds to another one: most names need no folding. */
const plain: ReadonlySet<string> = new Set(vocabulary);

function ambiguityIn(object: ObjectSpan | undefined, known: Folds): string | undefined {
  for (const one of object?.members ?? []) {
    const { key } = one;
    if (known.exact.has(key)) {
      if (member(object, key) !== one) return `${key} is repeated`;
    } else if (!plain.has(key)) {
      const word = takenFor(known, key);
      if (word !== undefined) return `${key} differs from ${word} only in case`;
    }
  }
  return undefined;
}
