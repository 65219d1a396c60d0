/**
 * What a child is sent, one line for each message. Lines of one turn of the event loop go out together: to wake the
 * process costs more than all the rest.
 */
import type { Writable } from 'node:stream';
import { Failure } from '../../errors/failure.ts';

export class Input {
  readonly #stdin: Writable;
  /** Of lines that the child has not read yet. */
  readonly #mostBytes: number;
  #isGathering = false;
  readonly #sendGathered = (): void => {
    this.#isGathering = false;
    this.#stdin.uncork();
  };

  constructor(stdin: Writable, mostBytes: number) {
    this.#stdin = stdin;
    this.#mostBytes = mostBytes;
  }

  get isOpen(): boolean {
    return this.#stdin.writable;
  }

  /** Throws a Failure where the child does not read its input. */
  send(line: Uint8Array): void {
    if (this.#stdin.writableLength + line.byteLength > this.#mostBytes) {
      throw new Failure('backend_busy', { message: 'Backend busy: it does not read what it is sent' });
    }
    if (!this.#isGathering) {
      this.#isGathering = true;
      this.#stdin.cork();
      setImmediate(this.#sendGathered);
    }
    this.#stdin.write(line);
  }
}
