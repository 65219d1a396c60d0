/**
 * Under which name a client sees a backend's tool or prompt, where several backends stand behind one endpoint.
 *
 * - plain: `backend__name`, where that is short and plain enough for every client, and reads back as just this origin;
 * - shortened: as much of it as fits, and a digest of the whole origin.
 *
 * What would be plain and looks shortened is shortened itself, so that the two kinds never meet. A name depends on nothing
 * but the origin and the set of backends: no list, no order, no restart changes it.
 */

/** What an endpoint does with names: every one tells its backend, only those that several backends have, or none. */
export type NamePolicy = 'always' | 'collision' | 'never';

export interface Origin {
  readonly backend: string;
  /** As the backend has it. */
  readonly name: string;
}

export interface Names {
  /** The client's name of a backend's thing. */
  encode(origin: Origin): string;
  /** The origin of a plain name, for which no list is needed; undefined for everything else. */
  decode(name: string): Origin | undefined;
  /** Whether this could be an encoded name of the endpoint, of either kind. */
  isEncoded(name: string): boolean;
}

export const SEPARATOR = '__';
/** Model providers refuse longer tool names, and other characters. */
const PLAIN = /^[a-zA-Z0-9_-]{1,64}$/;
const NOT_PLAIN = /[^a-zA-Z0-9_-]/gu;
/** 64 bits: with 10,000 shortened names one chance in 10^11 that two meet. The merge still looks. */
const DIGEST_LENGTH = 16;
const SHORTENED = /_[0-9a-f]{16}$/;
const SLUG_LENGTH = 64 - 1 - DIGEST_LENGTH;

/** `digest` gives lower-case hexadecimal digits, at least 16 of them, and must be hard to find collisions for: backends choose their names. */
export function createNames(backends: readonly string[], digest: (text: string) => string): Names {
  // Of two backends one of which begins with the other, the longer one is meant: `a__b__c` is of `a__b` where there is one.
  const known = new Set(backends);

  const decode = (name: string): Origin | undefined => {
    // Before anything is looked up: a plain name is short, whoever sent it.
    if (!PLAIN.test(name) || SHORTENED.test(name)) return undefined;
    for (let at = name.lastIndexOf(SEPARATOR); at >= 0; at = at === 0 ? -1 : name.lastIndexOf(SEPARATOR, at - 1)) {
      const backend = name.slice(0, at);
      if (known.has(backend)) return { backend, name: name.slice(at + SEPARATOR.length) };
    }
    return undefined;
  };

  return {
    decode,
    encode(origin) {
      const whole = `${origin.backend}${SEPARATOR}${origin.name}`;
      const read = decode(whole);
      if (read !== undefined && read.backend === origin.backend && read.name === origin.name) return whole;
      const slug = whole.replaceAll(NOT_PLAIN, '_').slice(0, SLUG_LENGTH);
      // As JSON, because it keeps the two parts apart, and halves of surrogate pairs too.
      return `${slug}_${digest(JSON.stringify([origin.backend, origin.name])).slice(0, DIGEST_LENGTH)}`;
    },
    isEncoded: (name) => decode(name) !== undefined || SHORTENED.test(name),
  };
}
