/**
 * The name under which a client sees a backend's tool or prompt, if an endpoint has several backends.
 *
 * - plain: `backend__name`, if that is short and simple enough for every client, and decodes to exactly this origin;
 * - shortened: as much of it as fits, and a digest of the whole origin.
 *
 * A plain name that looks shortened is shortened too, so that the two kinds never collide. A name depends only on the
 * origin and the set of backends: no list, order or restart changes it.
 */

/** Which names an endpoint prefixes with their backend: all, only those that several backends have, or none. */
export type NamePolicy = 'always' | 'collision' | 'never';

export interface Origin {
  readonly backend: string;
  /** The backend's own name. */
  readonly name: string;
  /** The client's name, where the origin was decoded from it. */
  readonly encoded?: string | undefined;
}

export interface Names {
  /** The client's name for a backend's entry. */
  encode(origin: Origin): string;
  /** The origin of a plain name, without any list; undefined for all other names. */
  decode(name: string): Origin | undefined;
  /** Whether this could be an encoded name of the endpoint, plain or shortened. */
  isEncoded(name: string): boolean;
}

export const SEPARATOR = '__';
/** Model providers refuse longer tool names and other characters. */
const PLAIN = /^[a-zA-Z0-9_-]{1,64}$/;
const NOT_PLAIN = /[^a-zA-Z0-9_-]/gu;
/** 64 bits: with 10,000 shortened names the chance of a collision is one in 10^11. The merge still checks for one. */
const DIGEST_LENGTH = 16;
const SHORTENED = /_[0-9a-f]{16}$/;
const SLUG_LENGTH = 64 - 1 - DIGEST_LENGTH;

/**
 * `digest` returns at least 16 lower-case hexadecimal digits and must be collision-resistant: backends choose their
 * names.
 */
export function createNames(backends: readonly string[], digest: (text: string) => string): Names {
  // If one backend's name begins with another's, the longer one wins: `a__b__c` belongs to `a__b` if there is one.
  const known = new Set(backends);

  const decode = (name: string): Origin | undefined => {
    // Checked before any lookup: a plain name is short, whatever the client sent.
    if (!PLAIN.test(name) || SHORTENED.test(name)) return undefined;
    for (let at = name.lastIndexOf(SEPARATOR); at >= 0; at = at === 0 ? -1 : name.lastIndexOf(SEPARATOR, at - 1)) {
      const backend = name.slice(0, at);
      if (known.has(backend)) return { backend, name: name.slice(at + SEPARATOR.length), encoded: name };
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
      // JSON keeps the two parts apart, and preserves unpaired surrogates.
      return `${slug}_${digest(JSON.stringify([origin.backend, origin.name])).slice(0, DIGEST_LENGTH)}`;
    },
    isEncoded: (name) => decode(name) !== undefined || SHORTENED.test(name),
  };
}
