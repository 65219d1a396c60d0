/** A fast wrong answer is worth nothing: every answer of every round is checked. */
import { isDeepStrictEqual } from 'node:util';
import { type Answer, headerOf } from './parser.ts';
import type { Id } from './requests.ts';

export class WrongAnswer extends Error {}

/** Members of the result that must be as given. A gateway may add others. */
export type Expected = Readonly<Record<string, unknown>>;

const DATA = Buffer.from('data:');
const LINE_OF_DATA = Buffer.from('\ndata:');
const SHOWN = 600;

/**
 * The JSON-RPC message: the body, or the data of the last event. JSON has no line ends inside, so neither has the data.
 */
function messageOf({ head, body }: Answer): Buffer {
  if (headerOf(head, 'content-type')?.startsWith('text/event-stream') !== true) return body;
  const line = body.lastIndexOf(LINE_OF_DATA);
  const start = line < 0 ? DATA.length : line + LINE_OF_DATA.length;
  const end = body.indexOf('\n', start);
  return body.subarray(start, end < 0 ? undefined : end);
}

function parsed(bytes: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(bytes.toString()) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** Checks the first answer member by member, and later ones against its bytes, or in full where those differ. */
export class Verifier {
  readonly #id: Id;
  readonly #expected: Expected;
  #right: Buffer | undefined;

  constructor(id: Id, expected: Expected) {
    this.#id = id;
    this.#expected = expected;
  }

  check(answer: Answer): void {
    const bytes = messageOf(answer);
    if (answer.status === 200 && this.#right?.equals(bytes) === true) return;
    const { id, result } = parsed(bytes);
    const isRight =
      answer.status === 200 &&
      id === this.#id &&
      typeof result === 'object' &&
      result !== null &&
      !('isError' in result && result.isError === true) &&
      Object.entries(this.#expected).every(([name, value]) =>
        isDeepStrictEqual((result as Record<string, unknown>)[name], value),
      );
    if (!isRight) {
      const { head, body } = answer;
      throw new WrongAnswer(`wrong answer to request ${this.#id}:\n${head}\n\n${body.toString('utf8', 0, SHOWN)}`);
    }
    this.#right = bytes;
  }
}
