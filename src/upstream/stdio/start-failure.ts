/** Why a process could not be started. Clients get the class; the command and the directory are for the log alone. */
import { statSync } from 'node:fs';
import { Failure } from '../../errors/failure.ts';
import type { FailureKind } from '../failure-kind.ts';
import type { ChildCommand } from './child.ts';

const notAllowed: FailureKind = {
  why: 'the command may not be executed',
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
    why: 'the command is no program of this machine',
    cure: 'install the build for this machine, or start a script with its interpreter',
  },
  E2BIG: { why: 'arguments and environment are too large', cure: 'shorten `args` and `env`' },
  EAGAIN: { why: 'the machine is out of processes', cure: 'raise the limit of processes (`ulimit -u`, `TasksMax=`)' },
  ENOMEM: { why: 'the machine is out of memory', cure: 'give it more, or run fewer servers' },
};

export function cannotStart(cause: unknown, { command, cwd }: Pick<ChildCommand, 'command' | 'cwd'>): Failure {
  const code = codeOf(cause);
  // The system reports a missing directory as if the command were missing.
  const badDirectory = cwd !== undefined && code !== undefined && !isDirectory(cwd);
  const kind = badDirectory ? noDirectory : kinds[code ?? ''];
  const text = cause instanceof Error ? cause.message : String(cause);
  return new Failure('backend_unavailable', {
    message: `Backend process cannot be started${kind === undefined ? '' : `: ${kind.why}`}`,
    ...(kind && { cure: kind.cure }),
    cause: new Error(badDirectory ? `\`cwd\` ${cwd} is no directory` : detail(code, command, text), { cause }),
  });
}

function detail(code: string | undefined, command: string, text: string): string {
  if (code === 'ENOENT') {
    return command.includes('/') ? `there is no file ${command}` : `\`${command}\` is not on the PATH of the gateway`;
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
