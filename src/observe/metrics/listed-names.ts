/** Learns the names of tools and prompts from the lists that backends give. */
import type { ResultResponse, Span } from '../../wire/message.ts';
import type { MethodRow } from '../../wire/methods.ts';
import { member, valueAt } from '../../wire/values.ts';
import { LabelNames } from './label-names.ts';

/** Lists that were read already, as fingerprints. Beyond this number they are read again. */
const MOST_SEEN = 256;
/** Bytes of a list that make its fingerprint, evenly spread over it. */
const SAMPLES = 256;

export class ListedNames {
  readonly tools = new LabelNames();
  readonly prompts = new LabelNames();
  readonly #seen = new Set<number>();

  get leftOut(): number {
    return this.tools.leftOut + this.prompts.leftOut;
  }

  /** The same list comes again and again, so it is recognised before it is parsed. */
  learn({ list }: MethodRow, { bytes, result }: ResultResponse): void {
    // Resources have URIs, which are no label values.
    if (list !== 'tools' && list !== 'prompts') return;
    const span = member(result, list);
    if (span === undefined) return;
    const print = fingerprint(bytes, span.start, span.end);
    if (this.#seen.has(print)) return;
    if (this.#seen.size >= MOST_SEEN) this.#seen.clear();
    this.#seen.add(print);
    for (const name of namesIn(bytes, span)) this[list].add(name);
  }
}

/** None where the list is not valid JSON: the responder reports that to the client. */
function namesIn(bytes: Uint8Array, span: Span): readonly string[] {
  let entries: unknown;
  try {
    entries = valueAt(bytes, span);
  } catch {
    return [];
  }
  if (!Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown) => {
    const name = typeof entry === 'object' && entry !== null && 'name' in entry ? entry.name : undefined;
    return typeof name === 'string' ? [name] : [];
  });
}

/** Two lists may have the same one: then the new names are learned with the next change. */
function fingerprint(bytes: Uint8Array, start: number, end: number): number {
  const step = Math.max(1, Math.floor((end - start) / SAMPLES));
  let value = end - start;
  for (let at = start; at < end; at += step) value = (Math.imul(value, 31) + (bytes[at] as number)) | 0;
  return value;
}
