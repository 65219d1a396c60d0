/** Reads the messages in one HTTP response, whether it is JSON or an event stream, as they arrive. */
import { SseReader } from '../../wire/sse.ts';
import { type RequestId, readLimits, type SendOptions } from './peer.ts';
import { answerIn, type JsonObject, objectIn, type PeerAnswer, type PeerFault, parsed } from './reply.ts';

export class MessageReader {
  readonly others: JsonObject[] = [];
  /** Bytes so far. The caller bounds them. */
  size = 0;
  #answer: PeerAnswer | undefined;
  /** A response to another request. */
  #stray: PeerAnswer | undefined;
  /** The data of an event that is no JSON. */
  #unreadable: string | undefined;
  #events: SseReader | undefined;
  #chunks: Buffer[] = [];
  #isJson = false;
  readonly #id: RequestId | undefined;
  readonly #until: SendOptions['until'];

  constructor(id: RequestId | undefined, until?: SendOptions['until']) {
    this.#id = id;
    this.#until = until;
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }

  begin(contentType: string): void {
    const type = contentType.split(';', 1)[0]?.trim().toLowerCase();
    this.#isJson = type === 'application/json';
    if (type === 'text/event-stream') this.#events = new SseReader({ eventBytes: readLimits.bytes });
  }

  /** Returns true when nothing more has to be read: what was waited for is there. */
  push(chunk: Buffer): boolean {
    this.size += chunk.byteLength;
    this.#chunks.push(chunk);
    if (this.#events === undefined) return false;
    for (const { data } of this.#events.push(chunk)) {
      // An event without data primes a stream for resumption.
      if (data === undefined || data.byteLength === 0) continue;
      if (this.#take(Buffer.from(data).toString('utf8'))) return true;
    }
    return false;
  }

  get answer(): PeerAnswer | undefined {
    if (this.#answer === undefined && this.#events === undefined && this.size > 0) this.#take(this.text);
    return this.#answer;
  }

  /** Why there is no answer. Undefined where none was expected. */
  fault(status: number | undefined): PeerFault | undefined {
    if (this.#id === undefined || status === undefined) return undefined;
    if (this.#stray !== undefined) {
      const ids = `${JSON.stringify(this.#id)} was asked, ${JSON.stringify(this.#stray.id)} was answered`;
      return { finding: 'other_id', detail: ids };
    }
    if (status >= 500) return { finding: 'server_error', detail: `HTTP ${status}` };
    if (status >= 400) return { finding: 'http_status', detail: `HTTP ${status} without a JSON-RPC error` };
    if (this.#events !== undefined) return { finding: 'sse_malformed', detail: this.#streamFault() };
    if (this.size === 0) return { finding: 'no_response', detail: `HTTP ${status} with an empty body` };
    return { finding: 'not_a_message', detail: this.#isJson ? 'the body is no response' : 'the body is no JSON' };
  }

  #streamFault(): string {
    if (this.#unreadable !== undefined) return `the data of an event is no JSON: ${this.#unreadable.slice(0, 80)}`;
    return this.others.length === 0 ? 'the stream has no complete event with data' : 'the stream ends without it';
  }

  #take(text: string): boolean {
    const json = parsed(text);
    const message = objectIn(json?.value);
    if (json === undefined) this.#unreadable = text;
    if (message === undefined) return false;
    const answer = answerIn(message);
    if (answer === undefined) {
      this.others.push(message);
      return this.#until?.(message) === true;
    }
    // An error without an id answers the POST that it came for: the server could not read the id.
    const isOurs = answer.id === this.#id || (answer.error !== undefined && answer.id == null);
    if (isOurs) this.#answer = answer;
    else this.#stray = answer;
    return isOurs;
  }
}
