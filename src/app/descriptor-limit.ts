/** How many file descriptors this process may have, and how many of them are for clients. */
import { readFileSync } from 'node:fs';

/** Undefined where the system does not report a limit. */
export function openFilesLimit(read = () => readFileSync('/proc/self/limits', 'utf8')): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(read())?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Reserved for files, pipes to a few processes, and health checks beyond the connection limit. */
const RESERVED = 48;
/** With fewer connections the gateway would be useless. */
const LEAST = 8;

/** A quarter of the descriptors is for backends: connections to them, and three pipes for each process. */
export function connectionsWithin(openFiles: number | undefined, wanted: number): number {
  if (openFiles === undefined) return wanted;
  return Math.min(wanted, Math.max(LEAST, Math.floor((openFiles * 3) / 4) - RESERVED));
}
