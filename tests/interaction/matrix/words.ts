/** What a test saw, in the words that docs/bridging.md prints. Nothing here knows who the client or the backend was. */
import { isDeepStrictEqual } from 'node:util';
import type { Json } from '../harness/client.ts';
import type { Question } from './actors.ts';
import type { Came } from './speakers.ts';

export const works = 'works';

const without = 'without ';

type Value = Readonly<Record<string, unknown>>;

/** What the modern era says in every result, and no tool does. */
const envelope: ReadonlySet<string> = new Set(['resultType', 'ttlMs', 'cacheScope', '_meta']);

/** A result as the backend meant it, against what arrived. */
export function ofResult({ result, error }: Came, sent: object): string {
  if (error !== undefined) return refusal(error);
  return inWords(changes(sent as Value, withoutEnvelope(result)));
}

export function withoutEnvelope(result: Value): Value {
  return Object.fromEntries(Object.entries(result).filter(([key]) => !envelope.has(key)));
}

export function inWords(changed: readonly string[]): string {
  return changed.length === 0 ? works : `degraded: ${joined(changed)}`;
}

/** What was lost is named in one go. */
function joined(changed: readonly string[]): string {
  const lost = changed.filter((change) => change.startsWith(without)).map((change) => change.slice(without.length));
  const others = changed.filter((change) => !change.startsWith(without));
  return [...(lost.length === 0 ? [] : [`${without}${lost.join(', ')}`]), ...others].join(', ');
}

export function refusal({ code, data }: Json): string {
  return `refused: ${data?.reason ?? code}`;
}

/** What became of the members. */
export function changes(sent: Value, got: Value): readonly string[] {
  const before = Object.entries(sent).flatMap(([key, value]) => {
    if (!(key in got)) return [`${without}${key}`];
    if (isDeepStrictEqual(value, got[key])) return [];
    return [isDeepStrictEqual({ result: value }, got[key]) ? `${key} inside an object` : `${key} changed`];
  });
  return [...before, ...Object.keys(got).flatMap((key) => (key in sent ? [] : [`with ${key}`]))];
}

/** Questions of a tool that returns the answers it got as text: what it asked, and what the client answered to each. */
export interface Asked {
  readonly put: readonly Question[];
  readonly answers: Readonly<Record<string, object>>;
}

export function ofAsking({ result, error, asked }: Came, { put, answers }: Asked): string {
  if (error !== undefined) return refusal(error);
  const got: Record<string, Json> = JSON.parse(result.content[0].text);
  const refused = Object.values(got).find((answer) => answer.error !== undefined);
  if (refused !== undefined) return refusal(refused.error);
  if (asked.length === 0) return `refused: ${Object.values(got).map(({ action }) => action)} in its place`;
  if (put.length !== asked.length || !isDeepStrictEqual(got, answers))
    return `not so: ${JSON.stringify({ put, asked, got })}`;
  const notes = put.flatMap((question, index) => questionChanges(question, asked[index] as Question));
  return notes.length === 0 ? works : `${works}, ${joined([...new Set(notes)])}`;
}

function questionChanges(put: Question, asked: Question): readonly string[] {
  if (put.method !== asked.method) return [`as ${asked.method}`];
  return changes(put.params ?? {}, asked.params ?? {});
}
