/** A call that begins once something it waits for is there, such as an upstream session. */

import { Failure } from '../errors/failure.ts';
import type { Call, CallSink } from './call.ts';

export class LateCall implements Call {
  readonly #sink: CallSink;
  #call: Call | undefined;
  #heard: { readonly logLevel: string | undefined } | undefined;
  #cancelled = false;

  /** `begin` gets what `way` resolves to. `giveBack` gets it instead if the call was cancelled meanwhile. */
  static after<T>(way: Promise<T>, sink: CallSink, begin: (way: T) => Call, giveBack: (way: T) => void): LateCall {
    const call = new LateCall(sink);
    way.then((found) => call.#found(found, begin, giveBack)).catch((error: unknown) => call.#failed(error));
    return call;
  }

  private constructor(sink: CallSink) {
    this.#sink = sink;
  }

  hear(logLevel: string | undefined): void {
    this.#heard = { logLevel };
    this.#call?.hear?.(logLevel);
  }

  cancel(reason?: string): void {
    this.#cancelled = true;
    this.#call?.cancel(reason);
  }

  #found<T>(way: T, begin: (way: T) => Call, giveBack: (way: T) => void): void {
    if (this.#cancelled) {
      giveBack(way);
      return;
    }
    this.#call = begin(way);
    if (this.#heard !== undefined) this.#call.hear?.(this.#heard.logLevel);
  }

  #failed(error: unknown): void {
    if (this.#cancelled) return;
    const failure = error instanceof Failure ? error : new Failure('internal_error', { cause: error });
    this.#sink.settle({ kind: 'failure', failure });
  }
}
