/** What bubblewrap is told: file system, namespaces, program. Everything that is not named is absent. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { SandboxConfig } from '../../../config/config.ts';
import { systemFolders } from '../../../config/sandbox.ts';
import type { ChildCommand } from '../start.ts';

/** Of /etc only what programs need, and nothing that can have a secret. */
const systemFiles = [
  ...['alternatives', 'ca-certificates', 'crypto-policies', 'group', 'host.conf', 'hosts', 'ld.so.cache'],
  ...['ld.so.conf', 'ld.so.conf.d', 'localtime', 'mime.types', 'nsswitch.conf', 'passwd', 'pki/tls/certs'],
  ...['protocols', 'resolv.conf', 'services', 'ssl/certs', 'ssl/openssl.cnf'],
].map((name) => `/etc/${name}`);

/** Nobody, in the sandbox: no file of the system belongs to it. */
const INNER_USER = '65534';

/** The namespaces of every sandbox, and of the attempt whether the machine can do it. */
export const namespaces: readonly string[] = [
  ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try', '--disable-userns'],
  ...['--uid', INNER_USER, '--gid', INNER_USER, '--cap-drop', 'ALL', '--hostname', 'sandbox', '--die-with-parent'],
];

/** Without `bwrap` itself. Nothing here is secret: every user of the machine can read it. */
export function sandboxArguments(
  { network, read, write }: SandboxConfig,
  { command, args, cwd }: ChildCommand,
  path: string,
): string[] {
  return [
    ...namespaces,
    ...(network ? [] : ['--unshare-net']),
    ...systemFolders.flatMap(shown),
    ...systemFiles.flatMap((file) => ['--ro-bind-try', file, file]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    // A longer path may be inside a shorter one.
    ...[...read].sort().flatMap((root) => ['--ro-bind', root, root]),
    ...[...write].sort().flatMap((root) => ['--bind', root, root]),
    ...programOf(command, path),
    // The root itself is in memory. What is mounted in it keeps its own rights.
    ...['--remount-ro', '/'],
    ...['--chdir', cwd ?? '/tmp', '--', command, ...args],
  ];
}

/** Where the folder is a link (to /usr), the link is made. */
function shown(folder: string): string[] {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(folder), folder] : ['--ro-bind', folder, folder];
}

/** The file of the command, where it is not the system's: a single file, and nothing beside it. */
function programOf(command: string, path: string): string[] {
  const places = command.includes('/') ? [command] : path.split(delimiter).map((folder) => join(folder, command));
  const found = places.find((place) => isAbsolute(place) && isFile(place));
  if (found === undefined || systemFolders.some((folder) => found.startsWith(`${folder}/`))) return [];
  return ['--ro-bind', realpathSync(found), found];
}

function isFile(path: string): boolean {
  try {
    return lstatSync(realpathSync(path)).isFile();
  } catch {
    return false;
  }
}
