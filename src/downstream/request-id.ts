/** Ids for requests that have none that is safe to repeat (request-headers.ts). */
import { randomBytes } from 'node:crypto';

/** Ids made at once: `randomUUID` joins each of its own from twenty parts, with every request. */
const MADE = 1_024;
const BYTES = 16;
const CHARACTERS = 36;
const hex = Buffer.from('0123456789abcdef');
const dash = 0x2d;
/** A dash comes before these bytes of an id. */
const groups: ReadonlySet<number> = new Set([4, 6, 8, 10]);

const made = Buffer.alloc(MADE * CHARACTERS);
let used = MADE;

/** RFC 9562, 5.4: a UUID of version 4. */
export function newRequestId(): string {
  if (used === MADE) {
    makeIds();
    used = 0;
  }
  const at = used * CHARACTERS;
  used += 1;
  return made.toString('latin1', at, at + CHARACTERS);
}

function makeIds(): void {
  const random = randomBytes(MADE * BYTES);
  let at = 0;
  random.forEach((drawn, index) => {
    const place = index % BYTES;
    const byte = place === 6 ? (drawn & 0x0f) | 0x40 : place === 8 ? (drawn & 0x3f) | 0x80 : drawn;
    if (groups.has(place)) made[at++] = dash;
    made[at++] = hex[byte >> 4] as number;
    made[at++] = hex[byte & 0x0f] as number;
  });
}
