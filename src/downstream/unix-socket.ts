/** Listens on a Unix socket. The rights of its file decide who may connect. */
import { chmodSync } from 'node:fs';
import type { Server } from 'node:net';

export interface UnixSocket {
  readonly path: string;
  /** The rights of the file. */
  readonly mode: number;
}

const ALL_RIGHTS = 0o777;

/** What is wrong is an `error` of the server. */
export function listenOnSocket(server: Server, { path, mode }: UnixSocket, listening: () => void): void {
  // At no time may others open it: the file is made before `listen` returns, with what the umask leaves.
  const before = process.umask(ALL_RIGHTS & ~mode);
  server.listen(path, () => {
    // The primary process makes the file for its workers, with a umask of its own.
    chmodSync(path, mode);
    listening();
  });
  process.umask(before);
}
