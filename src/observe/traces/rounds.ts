/**
 * Finds the span of the round before, by the `requestState` that the client got with it: each round of a call is a
 * message of its own. Kept in this process alone, for sampled traces.
 */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../exchange/bounded-map.ts';
import { inOnePiece, type Pieces } from '../../wire/compose.ts';
import type { Batch, Message } from '../../wire/message.ts';
import { skimMessage } from '../../wire/skim.ts';
import { textMember } from '../../wire/values.ts';
import type { SpanPlace } from './trace-context.ts';

/** Rounds that wait for a person. A link that is missing costs little. */
const ROUNDS = 1_024;

export class Rounds {
  /** By a digest: states can be long. */
  readonly #asked = new BoundedMap<SpanPlace>(ROUNDS);

  /** The response asked the client for input. */
  asked(response: Pieces | undefined, place: SpanPlace): void {
    const message = response && skimMessage(inOnePiece(response));
    if (message?.kind !== 'result') return;
    const state = textMember(message.bytes, message.result, 'requestState');
    if (state !== undefined) this.#asked.set(digestOf(state), place);
  }

  before(message: Message | Batch): SpanPlace | undefined {
    if (message.kind !== 'request' || this.#asked.size === 0) return undefined;
    const state = textMember(message.bytes, message.params, 'requestState');
    return state === undefined ? undefined : this.#asked.get(digestOf(state));
  }
}

function digestOf(state: string): string {
  return createHash('sha256').update(state).digest('base64');
}
