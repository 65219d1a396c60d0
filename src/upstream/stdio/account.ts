/** The user that a backend's process runs as, where it is not the gateway's own. */
import { readFileSync } from 'node:fs';

export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** Finds a user by name or number in /etc/passwd. Undefined where there is none. */
export function findAccount(user: string, passwd: () => string = systemUsers): SystemUser | undefined {
  for (const line of passwd().split('\n')) {
    const [name = '', , uid = '', gid = '', , home = ''] = line.split(':');
    if (name === '' || (name !== user && uid !== user)) continue;
    return { name, uid: Number(uid), gid: Number(gid), home };
  }
  return undefined;
}

function systemUsers(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8');
  } catch {
    return '';
  }
}
