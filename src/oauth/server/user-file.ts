/** The format of the user file: local users and their password hashes. */
import * as z from 'zod';
import { groupsShape } from '../../identity/groups.ts';
import { readListFile } from '../../identity/list-file.ts';
import { authServerLimits } from './limits.ts';

/** The characters of a mail address or login name. Names are compared exactly as written. */
export const userName = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/;

const date = z.iso.datetime({ offset: true });
const base64url = z.string().regex(/^[A-Za-z0-9_-]{16,128}$/);
const powerOfTwo = z
  .int()
  .min(2 ** 14)
  .max(2 ** 17)
  .refine((n) => Number.isInteger(Math.log2(n)));
const password = z.strictObject({
  algorithm: z.literal('scrypt'),
  /** CPU and memory cost, a power of two; block size; parallelism. */
  n: powerOfTwo,
  r: z.int().min(1).max(8),
  p: z.int().min(1).max(4),
  salt: base64url,
  hash: base64url,
});
const user = z.strictObject({
  /** The sign-in name, and the `sub` of tokens: policy rules name people by it. */
  name: z.string().regex(userName),
  password,
  groups: groupsShape,
  created: date,
  /** When the password was set. Sessions and tokens from before then are no longer valid. */
  changed: date,
});
const shape = z.strictObject({ version: z.literal(1), users: z.array(user).max(authServerLimits.users) });

export type User = Readonly<z.infer<typeof user>>;
export type UserFile = Readonly<z.infer<typeof shape>>;

/** Throws a `ListFileError`. */
export function readUserFile(text: string): UserFile {
  return readListFile(text, {
    what: 'user file',
    mostChars: authServerLimits.userFileChars,
    shape,
    idsOf: ({ users }) => users.map(({ name }) => name),
    twins: 'users named',
  });
}

export function writeUserFile(file: UserFile): string {
  return `${JSON.stringify(file, undefined, 2)}\n`;
}
