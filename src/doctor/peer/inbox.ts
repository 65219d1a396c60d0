/** Messages of a channel that all requests share: a pipe, or the stream of HTTP+SSE. */
import type { RequestId, SendOptions } from './peer.ts';
import { answerIn, type JsonObject, type PeerAnswer, type PeerFault } from './reply.ts';

interface Heard {
  readonly answer: PeerAnswer | undefined;
  readonly others: readonly JsonObject[];
  readonly fault: PeerFault | undefined;
  /** Everything that came during the wait. */
  readonly text: string;
}

interface Wait {
  readonly id: RequestId | undefined;
  readonly until: SendOptions['until'];
  readonly others: JsonObject[];
  stray: PeerAnswer | undefined;
  text: string;
  end(answer: PeerAnswer | undefined, fault: PeerFault | undefined): void;
}

/** More of a flood is not kept. */
const TEXT_CHARACTERS = 64 * 1024;
const MESSAGES = 1_000;

export class Inbox {
  readonly #timeoutMs: number;
  #wait: Wait | undefined;
  #ended: PeerFault | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  get ended(): PeerFault | undefined {
    return this.#ended;
  }

  /** Waits for the answer of one request. Steps and checks ask one after the other, so there is one wait at a time. */
  listen(id: RequestId | undefined, until: SendOptions['until']): Promise<Heard> {
    if (this.#ended !== undefined)
      return Promise.resolve({ answer: undefined, others: [], fault: this.#ended, text: '' });
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#overdue(), this.#timeoutMs);
      const wait: Wait = {
        ...{ id, until, others: [], stray: undefined, text: '' },
        end: (answer, fault) => {
          clearTimeout(timer);
          this.#wait = undefined;
          resolve({ answer, others: wait.others, fault, text: wait.text });
        },
      };
      this.#wait = wait;
    });
  }

  message(message: JsonObject, text: string): void {
    this.note(text);
    const wait = this.#wait;
    if (wait === undefined) return;
    const answer = answerIn(message);
    if (answer === undefined) {
      keep(wait, message);
      if (wait.until?.(message) === true) wait.end(undefined, undefined);
    } else if (wait.id !== undefined && (answer.id === wait.id || (answer.error !== undefined && answer.id == null)))
      wait.end(answer, undefined);
    else {
      wait.stray = answer;
      keep(wait, message);
    }
  }

  /** Text that is no message, for the report. */
  note(text: string): void {
    const wait = this.#wait;
    if (wait !== undefined && wait.text.length < TEXT_CHARACTERS) wait.text += `${text}\n`;
  }

  end(fault: PeerFault): void {
    this.#ended ??= fault;
    this.#wait?.end(undefined, fault);
  }

  #overdue(): void {
    const wait = this.#wait;
    if (wait === undefined) return;
    const { id, stray } = wait;
    if (id !== undefined && stray !== undefined) {
      const detail = `${JSON.stringify(id)} was asked, ${JSON.stringify(stray.id)} was answered`;
      wait.end(undefined, { finding: 'other_id', detail });
    } else wait.end(undefined, { finding: 'timed_out', detail: `no answer within ${this.#timeoutMs} ms` });
  }
}

function keep({ others }: Wait, message: JsonObject): void {
  if (others.length < MESSAGES) others.push(message);
}
