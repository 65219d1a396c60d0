/**
 * What a child inherits. Our own environment holds other people's secrets, so a backend gets what a program needs in order
 * to run at all, and beyond that what its configuration gives it.
 */
import type { SystemUser } from './account.ts';

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
    // An exported shell function begins so; old shells run what follows it.
    if (value !== undefined && !value.startsWith('()')) inherited[name] = value;
  }
  if (account !== undefined) {
    Object.assign(inherited, { HOME: account.home, LOGNAME: account.name, USER: account.name });
    // The gateway's own may be closed to that user.
    delete inherited['TMPDIR'];
  }
  return { ...inherited, ...configured };
}
