/** Sends one question, and reads its answer strictly. Nothing of an answer is used beyond what a protocol names. */
import type { OutwardFetch } from '../oauth/fetch/fetch.ts';
import { readStrictly } from '../wire/scan.ts';
import { isObject } from '../wire/values.ts';
import { DecisionFault } from './fault.ts';

/** Of a question. A request with more arguments is no call that a person or a model writes. */
export const QUESTION_BYTES = 1024 * 1024;
/** Of an answer: a decision, and for a list a decision for each entry. */
export const ANSWER_BYTES = 1024 * 1024;
const ANSWER_DEPTH = 32;

export interface PostedQuestion {
  readonly url: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly header: (name: string) => string | null;
  /** Called for a status that has a body. Throws a DecisionFault, or a Failure. */
  json(): Record<string, unknown>;
}

export async function post(fetch: OutwardFetch, { url, body, headers, signal }: PostedQuestion): Promise<Answer> {
  if (Buffer.byteLength(body) > QUESTION_BYTES) throw new DecisionFault('question_too_large');
  const response = await fetch(url, {
    method: 'POST',
    headers: { accept: 'application/json', ...headers, 'content-type': 'application/json' },
    body,
    signal,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get('content-type') ?? '';
  return {
    status: response.status,
    header: (name) => response.headers.get(name),
    json: () => {
      if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) throw new DecisionFault('wrong_type');
      return objectIn(bytes);
    },
  };
}

function objectIn(bytes: Uint8Array): Record<string, unknown> {
  const array = readStrictly(bytes, { depth: ANSWER_DEPTH }, false, () => undefined);
  if (array !== undefined) throw new DecisionFault('wrong_shape');
  const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
  if (!isObject(value)) throw new DecisionFault('wrong_shape');
  return value;
}
