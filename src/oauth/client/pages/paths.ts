/** The paths of the pages. */
import { connectPath } from '../settings.ts';
import { pageLimits } from './limits.ts';

/** The redirect after signing in at an issuer. */
export const signedInPath = '/oauth/signed-in';

/** Undefined if no consent can have this path. */
export function idIn(path: string): string | undefined {
  const id = path.slice(connectPath.length);
  return path.startsWith(connectPath) && id.length <= pageLimits.idChars && /^[\w-]+$/.test(id) ? id : undefined;
}
