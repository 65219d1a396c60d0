/**
 * The environment of a child. Our own environment contains other people's secrets, so a backend gets only what any
 * program needs to run, and what its config gives it.
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
    // An exported shell function begins like this; old shells run what follows it.
    if (value !== undefined && !value.startsWith('()')) inherited[name] = value;
  }
  if (account !== undefined) {
    Object.assign(inherited, { HOME: account.home, LOGNAME: account.name, USER: account.name });
    // The gateway's directory may be inaccessible to that user.
    delete inherited['TMPDIR'];
  }
  return { ...inherited, ...configured };
}
