/** Unix sockets that a process has left behind when it was killed. */
import { lstatSync, rmSync } from 'node:fs';
import { connect } from 'node:net';

/** A process on the same machine accepts at once. */
const CONNECT_MS = 2_000;

/** Removes one that nobody listens on. Otherwise says what is there. */
export async function removeStale(path: string): Promise<'not a socket' | 'in use' | undefined> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isSocket()) return 'not a socket';
  if (await isListening(path)) return 'in use';
  rmSync(path, { force: true });
  return undefined;
}

/** Whether a process listens there. Never rejects. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.setTimeout(CONNECT_MS, () => end(true));
    socket.on('connect', () => end(true));
    // Only of these it is certain. A full queue, for example, is that of a process that is busy.
    socket.on('error', (error) => end(!('code' in error && ['ECONNREFUSED', 'ENOENT'].includes(String(error.code)))));
  });
}
