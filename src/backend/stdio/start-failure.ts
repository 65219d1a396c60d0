/** Why a process could not be started. The class goes to clients; the command and the directory are for the log alone. */
import { statSync } from 'node:fs';
import { Failure } from '../../errors.ts';
import type { ChildCommand } from './child.ts';

/** What the system calls it, and what that means for a command. */
const classes: Readonly<Record<string, string>> = {
  ENOENT: 'command not found',
  EACCES: 'the command may not be executed',
  EPERM: 'the command may not be executed',
  ENOEXEC: 'the command is no program of this machine',
  E2BIG: 'arguments and environment are too large',
  EAGAIN: 'the machine is out of processes',
  ENOMEM: 'the machine is out of memory',
  EMFILE: 'the gateway is out of file descriptors',
  ENFILE: 'the machine is out of file descriptors',
};

export function cannotStart(cause: unknown, { command, cwd }: Pick<ChildCommand, 'command' | 'cwd'>): Failure {
  const code = codeOf(cause);
  // The system reports a missing directory as if the command were missing.
  const badDirectory = cwd !== undefined && code !== undefined && !isDirectory(cwd);
  const why = badDirectory ? 'its working directory does not exist' : classes[code ?? ''];
  const text = cause instanceof Error ? cause.message : String(cause);
  return new Failure('backend_unavailable', {
    message: `Backend process cannot be started${why === undefined ? '' : `: ${why}`}`,
    cause: new Error(badDirectory ? `\`cwd\` ${cwd} is no directory` : detail(code, command, text), { cause }),
  });
}

function detail(code: string | undefined, command: string, text: string): string {
  if (code === 'ENOENT') {
    return command.includes('/') ? `there is no file ${command}` : `\`${command}\` is not on the PATH of the gateway`;
  }
  if (code === 'EACCES' || code === 'EPERM') return `${command}: ${code} (is it executable, and may this user run it?)`;
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
