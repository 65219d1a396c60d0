/** Whether this machine can keep a backend in a sandbox. Where it cannot, nothing is started. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { SandboxConfig } from '../../../config/config.ts';
import { findAccount, type SystemUser } from '../environment.ts';
import { namespaces } from './arguments.ts';
import { groupPlaces, NoControlGroup } from './cgroups.ts';

export const BWRAP = 'bwrap';
/** It is done in milliseconds. */
const TRIAL_MS = 10_000;

const run = promisify(execFile);

/** Why there is no sandbox on this machine, and what to do. */
export interface Incapable {
  readonly why: string;
  readonly cure: string;
}

/** A gateway that runs as root does not run backends as root. */
export function sandboxUser(
  user: string | undefined,
  own = process.getuid?.(),
  find: (user: string) => SystemUser | undefined = findAccount,
): SystemUser | undefined | Incapable {
  const wanted = user ?? (own === 0 ? 'nobody' : undefined);
  const account = find(wanted ?? String(own));
  if (account !== undefined || wanted === undefined) return account;
  return { why: `this machine has no user ${wanted}`, cure: `create it, or name another one in \`user\`` };
}

/** Undefined: it can. Starts bubblewrap for a moment. */
export async function incapable(settings: SandboxConfig, path: string, user?: string): Promise<Incapable | undefined> {
  if (process.platform !== 'linux') return { why: 'it needs Linux', cure: 'use a container, or remove `sandbox`' };
  const account = sandboxUser(user);
  if (account !== undefined && 'why' in account) return account;
  const isOther = account !== undefined && account.uid !== process.getuid?.();
  try {
    const trial = [
      ...namespaces,
      ...(settings.network ? [] : ['--unshare-net']),
      '--ro-bind',
      '/',
      '/',
      '--',
      '/bin/true',
    ];
    await run(BWRAP, trial, {
      timeout: TRIAL_MS,
      env: { PATH: path },
      cwd: '/',
      ...(isOther && { uid: account.uid, gid: account.gid }),
    });
    groupPlaces(settings);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): Incapable {
  if (error instanceof NoControlGroup)
    return { why: error.message, cure: 'give the gateway a control group of its own: docs/sandbox.md' };
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
    return { why: 'bubblewrap is not installed', cure: 'install the package `bubblewrap` (0.8 or later)' };
  const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
  return {
    why: `bubblewrap cannot make one (${(said === '' ? String(error) : said).split('\n')[0]})`,
    cure: 'allow user namespaces (user.max_user_namespaces, AppArmor), and use bubblewrap 0.8 or later: docs/sandbox.md',
  };
}
