/** What the key file and the user file share: both are JSON with a list, and are read whole or not at all. */
import type * as z from 'zod';

/** The message says what is wrong with a file or with a change to it. It quotes no content: it goes to the log. */
export class ListFileError extends Error {
  override readonly name = 'ListFileError';
}

export interface ListFileForm<Content> {
  readonly what: 'key file' | 'user file';
  readonly mostChars: number;
  readonly shape: z.ZodType<Content>;
  /** What identifies the entries. No two of them may be equal. */
  readonly idsOf: (content: Content) => readonly string[];
  /** Says how two such entries are called, before the id. */
  readonly twins: string;
}

/** Throws a `ListFileError`. */
export function readListFile<Content>(text: string, form: ListFileForm<Content>): Content {
  const { what, mostChars, shape, idsOf, twins } = form;
  if (text.length > mostChars) throw new ListFileError(`it is too large for a ${what}`);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new ListFileError('it is not JSON');
  }
  const read = shape.safeParse(json);
  if (!read.success) {
    const at = read.error.issues[0]?.path.join('.') ?? '';
    throw new ListFileError(at === '' ? `it is not a ${what}` : `\`${at}\` has a wrong value`);
  }
  const ids = new Set<string>();
  for (const id of idsOf(read.data)) {
    if (ids.has(id)) throw new ListFileError(`it has two ${twins} ${id}`);
    ids.add(id);
  }
  return read.data;
}
