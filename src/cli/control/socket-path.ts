/** Where the control socket of a gateway is: in its state directory, which only its user can enter. */
import { connect } from 'node:net';
import { join } from 'node:path';

/** What keeps the control socket from being served or asked, for people. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}

/** The system's limit for the path of a Unix socket, without the zero byte at its end: `sun_path`. */
const MOST_BYTES = process.platform === 'darwin' ? 103 : 107;
/** A gateway on the same machine accepts at once. */
const CONNECT_MS = 2_000;

export function controlPath(storeDir: string): string {
  if (process.platform === 'win32')
    throw new ControlError('there is no control socket on Windows; use --url with the address of the console API');
  const path = join(storeDir, 'control.sock');
  const bytes = Buffer.byteLength(path);
  if (bytes > MOST_BYTES)
    throw new ControlError(
      `the path of the control socket has ${bytes} bytes, and the system allows ${MOST_BYTES}: ` +
        `choose a shorter \`store.dir\` (${path})`,
    );
  return path;
}

/** Whether a gateway listens there. Never rejects. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.setTimeout(CONNECT_MS, () => end(true));
    socket.on('connect', () => end(true));
    // A full queue is that of a gateway that is busy: its socket must not be taken for a stale one.
    socket.on('error', (error) => end('code' in error && error.code === 'EAGAIN'));
  });
}
