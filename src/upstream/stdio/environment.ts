/**
 * The environment of a child. Our own environment contains other people's secrets, so a backend gets only what any
 * program needs to run, and what its config gives it.
 */
import { readFileSync } from 'node:fs';

const posix = [
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
] as const;

const windows = [
  'APPDATA',
  'COMSPEC',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
] as const;

export type Environment = Readonly<Record<string, string | undefined>>;

export function childEnvironment(
  own: Environment,
  configured: Readonly<Record<string, string>>,
  platform: NodeJS.Platform,
  account?: SystemUser,
): Record<string, string> {
  const inherited: Record<string, string> = {};
  for (const name of platform === 'win32' ? windows : posix) {
    const value = own[name];
    // An exported shell function begins like this; old shells run what follows it.
    if (value !== undefined && !value.startsWith('()')) inherited[name] = value;
  }
  if (account !== undefined) {
    Object.assign(inherited, { HOME: account.home, LOGNAME: account.name, USER: account.name });
    // The gateway's directory may be inaccessible to that user.
    delete inherited.TMPDIR;
  }
  return { ...inherited, ...configured };
}

/** The user that a backend's process runs as, where it is not the gateway's own. */
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
