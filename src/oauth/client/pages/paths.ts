/** Where the pages are. */
import { connectPath } from '../settings.ts';
import { pageLimits } from './limits.ts';

/** Where issuers send people back to who showed there who they are. */
export const signedInPath = '/oauth/signed-in';

/** Undefined where no consent can have this address. */
export function idIn(path: string): string | undefined {
  const id = path.slice(connectPath.length);
  return path.startsWith(connectPath) && id.length <= pageLimits.idChars && /^[\w-]+$/.test(id) ? id : undefined;
}
