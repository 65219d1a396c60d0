/** How many descriptors this process may have, and how many of them are for clients. */
import { readFileSync } from 'node:fs';

/** Undefined where the system does not say. */
export function openFilesLimit(read = () => readFileSync('/proc/self/limits', 'utf8')): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(read())?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** For files, pipes to a few processes, and health paths beyond the limit of connections. */
const RESERVED = 48;
/** Fewer would be no server. */
const LEAST = 8;

/** A quarter is for backends: connections to them, and three pipes for each process. */
export function connectionsWithin(openFiles: number | undefined, wanted: number): number {
  if (openFiles === undefined) return wanted;
  return Math.min(wanted, Math.max(LEAST, Math.floor((openFiles * 3) / 4) - RESERVED));
}
