/**
 * Starts the process of a stdio backend, without a shell. Where that fails, clients get the class of the failure; the
 * command and the directory are for the log alone.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { SandboxConfig } from '../../config/config.ts';
import { Failure } from '../../errors/failure.ts';
import type { FailureKind } from '../as-failure.ts';
import { outOfDescriptors } from '../descriptors.ts';
import { childEnvironment, type Environment, findAccount } from './environment.ts';
import { ownGroup } from './group.ts';

export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Name or number. Absent: the gateway's own user. */
  readonly user?: string;
  /** Absent: the process may do what its user may. */
  readonly sandbox?: SandboxConfig;
}

export type PipedProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** Rejects with a Failure. */
export function startProcess(given: ChildCommand, inherited: Environment): Promise<PipedProcess> {
  const { command, args, env, cwd, user } = given;
  return new Promise((resolve, reject) => {
    const refuse = (cause: unknown): void => reject(outOfDescriptors(cause, 'process') ?? cannotStart(cause, given));
    try {
      const account = user === undefined ? undefined : findAccount(user);
      if (user !== undefined && account === undefined) throw new Error(`this machine has no user ${user}`);
      const started = spawn(command, args, {
        ...ownGroup,
        stdio: ['pipe', 'pipe', 'pipe'],
        env: childEnvironment(inherited, env, process.platform, account),
        ...(cwd === undefined ? {} : { cwd }),
        // Node also drops the gateway's supplementary groups.
        ...(account === undefined ? {} : { uid: account.uid, gid: account.gid }),
      });
      started.once('error', refuse);
      started.once('spawn', () => {
        started.off('error', refuse);
        resolve(started);
      });
    } catch (cause) {
      refuse(cause);
    }
  });
}

const notAllowed: FailureKind = {
  why: 'no permission to execute the command',
  cure: 'make the file executable for the user of the gateway, or start it with its interpreter (`node`, `python`)',
};
const noDirectory: FailureKind = {
  why: 'its working directory does not exist',
  cure: 'create the directory, or correct `cwd`',
};

/** Error codes of the system, and what each means for a command. */
const kinds: Readonly<Record<string, FailureKind>> = {
  ENOENT: { why: 'command not found', cure: 'install it, or name its file with the full path in `command`' },
  EACCES: notAllowed,
  EPERM: notAllowed,
  ENOEXEC: {
    why: 'the command is not a program for this machine',
    cure: 'install the build for this machine, or start a script with its interpreter',
  },
  E2BIG: { why: 'arguments and environment are too large', cure: 'shorten `args` and `env`' },
  EAGAIN: { why: 'the machine is out of processes', cure: 'raise the limit of processes (`ulimit -u`, `TasksMax=`)' },
  ENOMEM: { why: 'the machine is out of memory', cure: 'add memory, or run fewer servers' },
};

function cannotStart(cause: unknown, { command, cwd }: ChildCommand): Failure {
  const code = codeOf(cause);
  // The system reports a missing directory as if the command were missing.
  const badDirectory = cwd !== undefined && code !== undefined && !isDirectory(cwd);
  const kind = badDirectory ? noDirectory : kinds[code ?? ''];
  const text = cause instanceof Error ? cause.message : String(cause);
  return new Failure('backend_unavailable', {
    message: `Backend process cannot be started${kind === undefined ? '' : `: ${kind.why}`}`,
    ...(kind && { cure: kind.cure }),
    cause: new Error(badDirectory ? `\`cwd\` ${cwd} is not a directory` : detail(code, command, text), { cause }),
  });
}

function detail(code: string | undefined, command: string, text: string): string {
  if (code === 'ENOENT') {
    return command.includes('/') ? `there is no file ${command}` : `\`${command}\` is not on the PATH`;
  }
  if (code === 'EACCES' || code === 'EPERM') return `${command}: ${code}`;
  return text;
}

function codeOf(cause: unknown): string | undefined {
  const code = (cause as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
