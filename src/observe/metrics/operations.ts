/** The series of operations at one endpoint or one backend. They are found by numbers, without any text. */
import { type MethodRow, methods } from '../../wire/methods.ts';
import { type Revision, revisions } from '../../wire/revisions.ts';
import { endings } from './endings.ts';
import type { ListedNames } from './listed-names.ts';
import { OTHER, type Series } from './series.ts';

/** Not about a tool or prompt; and one that no list has. Names of lists follow. */
export const UNNAMED = 0;
const UNLISTED = 1;
const FIRST_NAME = 2;

const METHODS = methods.length + 1;
const REVISIONS = revisions.length + 1;
const ENDINGS = endings.length;

const methodIndex = new Map(methods.map((row, at) => [row, at]));
const revisionIndex = new Map(revisions.map((revision, at) => [revision, at]));

export class Operations {
  readonly #series: Series;
  /** The endpoint or backend. */
  readonly #place: string;
  readonly #transport: string;
  readonly #names: ListedNames;
  /** The key is below 2^31, which the engine stores unboxed. */
  readonly #known = new Map<number, number>();

  constructor(series: Series, place: string, transport: 'tcp' | 'pipe', names: ListedNames) {
    this.#series = series;
    this.#place = place;
    this.#transport = transport;
    this.#names = names;
  }

  /** The series of an operation. `name`: as `nameIndex` returns it. `ending`: an index of `endings`. */
  of(row: MethodRow | undefined, name: number, ending: number, revision: Revision | undefined): number {
    const method = row === undefined ? METHODS - 1 : (methodIndex.get(row) ?? METHODS - 1);
    const version = revision === undefined ? REVISIONS - 1 : (revisionIndex.get(revision) ?? REVISIONS - 1);
    const key = ((name * METHODS + method) * ENDINGS + ending) * REVISIONS + version;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const series = this.#find(row, name, ending, revision);
    this.#known.set(key, series);
    return series;
  }

  #find(row: MethodRow | undefined, name: number, ending: number, revision: Revision | undefined): number {
    const { errorType = '', reason = '' } = endings[ending] ?? {};
    const isPrompt = row?.capability === 'prompts';
    const listed = isPrompt ? this.#names.prompts : this.#names.tools;
    const text = name === UNNAMED ? '' : (listed.names[name - FIRST_NAME] ?? OTHER);
    const named = isPrompt ? ['', text] : [text, ''];
    const method = row?.method ?? OTHER;
    return this.#series.of(this.#place, method, ...named, errorType, reason, revision ?? '', this.#transport);
  }
}

/** For methods that name a tool or a prompt. The quotes at both ends of the name are not part of it. */
export function nameIndex(
  { tools, prompts }: ListedNames,
  row: MethodRow,
  bytes: Uint8Array,
  at: { readonly start: number; readonly end: number } | undefined,
): number {
  if (at === undefined) return UNLISTED;
  const found = (row.capability === 'prompts' ? prompts : tools).find(bytes, at.start + 1, at.end - 1);
  return found === -1 ? UNLISTED : FIRST_NAME + found;
}
