/**
 * The key file: the list of keys. It contains no key, only hashes to check keys with.
 *
 * A key is 256 random bits and cannot be guessed. So a keyed hash is as good as a slow one, and a slow one would let
 * anybody who sends garbage use a second of our CPU time. The salt makes two files with the same key different.
 */
import { createHmac } from 'node:crypto';
import * as z from 'zod';
import { groupsShape } from './groups.ts';
import { identityLimits } from './limits.ts';
import { ListFileError, readListFile } from './list-file.ts';

/**
 * Recognisable, so that scanners for leaked secrets can find a key, and a key is never sent to an issuer by mistake.
 */
export const keyPrefix = 'bsc_';
const form = /^bsc_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;
export const keyName = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
/** RFC 6749, 3.3. */
export const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

export interface ParsedKey {
  readonly id: string;
  readonly secret: string;
}

export function parseKey(text: string): ParsedKey | undefined {
  const match = form.exec(text);
  return match === null ? undefined : { id: match[1]!, secret: match[2]! };
}

export function writeKey({ id, secret }: ParsedKey): string {
  return `${keyPrefix}${id}_${secret}`;
}

export function hashSecret(secret: string, salt: string): Buffer {
  return createHmac('sha256', salt).update(secret).digest();
}

const date = z.iso.datetime({ offset: true });
const entry = z.strictObject({
  /** Part of the key itself, to find the entry by. Not secret. */
  id: z.string().regex(/^[a-z0-9]{12}$/),
  /** Several keys may have the same name. They are the same principal, so that one key can replace another. */
  name: z.string().regex(keyName),
  /** HMAC-SHA-256 of the secret under the file's salt, base64url. */
  hash: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  scopes: z.array(z.string().regex(scopeToken)),
  groups: groupsShape,
  created: date,
  expires: date.optional(),
});
const shape = z.strictObject({
  version: z.literal(1),
  salt: z.string().min(22),
  keys: z.array(entry).max(identityLimits.keys),
});

export type KeyEntry = Readonly<z.infer<typeof entry>>;
export type KeyFile = Readonly<Omit<z.infer<typeof shape>, 'keys'> & { keys: readonly KeyEntry[] }>;

/** The request is invalid, whatever the file contains. */
export class KeyRequestError extends ListFileError {}

/** Throws a `ListFileError`. */
export function readKeyFile(text: string): KeyFile {
  return readListFile(text, {
    what: 'key file',
    mostChars: identityLimits.keyFileChars,
    shape,
    idsOf: ({ keys }) => keys.map(({ id }) => id),
    twins: 'keys with the id',
  });
}

export function writeKeyFile(file: KeyFile): string {
  return `${JSON.stringify(file, undefined, 2)}\n`;
}
