/** Where the control socket of a gateway is: in its state directory, which only its user can enter. */
import { join } from 'node:path';
import { SOCKET_PATH_BYTES } from '../../config/listen.ts';

/** What keeps the control socket from being served or asked, for people. */
export class ControlError extends Error {
  override readonly name = 'ControlError';
}

export function controlPath(storeDir: string): string {
  if (process.platform === 'win32')
    throw new ControlError('there is no control socket on Windows; use --url with the address of the console API');
  const path = join(storeDir, 'control.sock');
  const bytes = Buffer.byteLength(path);
  if (bytes > SOCKET_PATH_BYTES)
    throw new ControlError(
      `the path of the control socket has ${bytes} bytes, and the system allows ${SOCKET_PATH_BYTES}: ` +
        `choose a shorter \`store.dir\` (${path})`,
    );
  return path;
}
