/** Says why an address cannot be bound, and what to change. */
import type { ListenConfig } from '../config/config.ts';
import { ListFileError } from '../identity/list-file.ts';
import { removeStale } from './stale-socket.ts';

/** `setting`: the option or config key that has the address. */
export function cannotListen(
  { host, port, socket }: Pick<ListenConfig, 'host' | 'port' | 'socket'>,
  error: unknown,
  setting: string,
): string {
  // Reading the certificate comes before binding the port.
  if (error instanceof ListFileError) return `cannot serve TLS: ${error.message}`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  if (socket !== undefined) return `cannot listen on ${socket.path}: ${code}`;
  const why = code === 'EADDRINUSE' ? `another process is listening there; choose another port with ${setting}` : code;
  return `cannot listen on ${host}:${port}: ${why}`;
}

/** Why a Unix socket cannot be bound, although the path is free to be written. Undefined: it can be. */
export async function socketTaken({ socket }: Pick<ListenConfig, 'socket'>): Promise<string | undefined> {
  if (socket === undefined) return undefined;
  const there = await removeStale(socket.path);
  if (there === undefined) return undefined;
  const why = there === 'in use' ? 'another process listens there' : 'there is a file that is no socket; remove it';
  return `cannot listen on ${socket.path}: ${why}, or choose another path as listen.socket`;
}
