/** Adds the gateway to a client's file, and takes exactly that out again. */
import { isDeepStrictEqual } from 'node:util';
import { type ClientEntry, type EntryFormat, type EntryPlace, LinkError, serversIn } from './entry-file.ts';
import { LinkedFile } from './linked-file.ts';

export interface LinkTarget {
  readonly file: string;
  readonly format: EntryFormat;
  readonly place: EntryPlace;
}

/** `same`: nothing had to be changed. `copy`: where the file from before is; absent where there was none. */
export interface LinkOutcome {
  readonly outcome: 'added' | 'replaced' | 'same';
  readonly copy: string | undefined;
}

/** Throws a LinkError, and changes nothing, where the entry cannot be added safely. */
export function link({ file: path, format, place }: LinkTarget, entry: ClientEntry): LinkOutcome {
  const file = new LinkedFile(path, place.name);
  const there = entryIn(file.text, format, place);
  if (isDeepStrictEqual(there, plain(entry))) return { outcome: 'same', copy: file.copy };
  const isOurs = there !== undefined && file.before !== undefined;
  if (there !== undefined && !isOurs)
    throw new LinkError(
      `it has a server \`${place.name}\` that bascule did not write: choose another name with --name, or remove it first`,
    );
  const base = isOurs ? without(file, format, place, there) : file.text;
  const text = format.add(base, place, entry);
  verify(text, base, format, place, entry);
  // The copy is from before the first time.
  if (!isOurs) file.keepCopy();
  file.write(text);
  return { outcome: isOurs ? 'replaced' : 'added', copy: file.copy };
}

/** `absent`: there was nothing to take out. */
export function unlink({ file: path, format, place }: LinkTarget): 'removed' | 'absent' {
  const file = new LinkedFile(path, place.name);
  const there = entryIn(file.text, format, place);
  if (there === undefined) {
    file.forget();
    return 'absent';
  }
  if (file.before === undefined)
    throw new LinkError(
      `bascule did not write its server \`${place.name}\`: remove it yourself, or name another with --name`,
    );
  file.write(without(file, format, place, there));
  file.forget();
  return 'removed';
}

/**
 * The text from before the entry was added. Where nothing else has changed since, that is the copy, byte for byte.
 * Otherwise only the entry is taken out.
 */
function without(file: LinkedFile, format: EntryFormat, place: EntryPlace, entry: unknown): string | undefined {
  const { text = '', before } = file;
  const isUnchanged = before !== undefined && format.add(before.text, place, entry as ClientEntry) === text;
  if (isUnchanged) return before.text;
  const left = format.remove(text, place);
  verify(text, left, format, place, entry);
  return left;
}

/** Parses both texts again: they must differ by the entry alone. */
function verify(
  text: string,
  base: string | undefined,
  format: EntryFormat,
  { container, name }: EntryPlace,
  entry: unknown,
): void {
  const [after, before] = [text, base ?? ''].map((it) => (it.trim() === '' ? {} : plain(format.read(it)))) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const servers = { ...serversIn(before, container), [name]: plain(entry) };
  if (isDeepStrictEqual(after, { ...before, [container]: servers })) return;
  throw new LinkError(
    `the server \`${name}\` can't be changed without changing more: do it yourself; \`--print\` shows it`,
  );
}

function entryIn(text: string | undefined, format: EntryFormat, { container, name }: EntryPlace): unknown {
  if (text === undefined || text.trim() === '') return undefined;
  const servers = serversIn(format.read(text), container);
  return servers !== undefined && Object.hasOwn(servers, name) ? plain(servers[name]) : undefined;
}

/** Parsers give objects without a prototype, and dates: only the content is compared. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
