/** How an entry is added to the text of a client's file, and taken out again, in each format. */

export interface EntryFormat {
  /** The whole file as a value. Throws a LinkError where the text is not of this format. */
  read(text: string): unknown;
  /** The text with the entry in it. `undefined`: there is no file yet. */
  add(text: string | undefined, place: EntryPlace, entry: ClientEntry): string;
  /** The text without the entry, which is in it. */
  remove(text: string, place: EntryPlace): string;
}

export interface EntryPlace {
  /** The member that has all servers. */
  readonly container: string;
  readonly name: string;
}

export type ClientEntry = Readonly<Record<string, EntryValue>>;
type EntryValue = string | readonly string[] | Readonly<Record<string, string>>;

/** Why nothing was changed, for people: what is wrong, and what to do. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
}

/** The servers in a file's value. Undefined where it has none; throws where they are not a map. */
export function serversIn(value: unknown, container: string): Readonly<Record<string, unknown>> | undefined {
  if (!isMap(value)) throw new LinkError('it is not an object at the top');
  const servers = value[container];
  if (servers === undefined) return undefined;
  if (!isMap(servers)) throw new LinkError(`\`${container}\` is not an object`);
  return servers;
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
