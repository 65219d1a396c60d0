/** SIGHUP reloads the config. When the terminal was closed, it ends the process as usual. */
import { closeSync, openSync } from 'node:fs';

export function reloadOnSignal(reload: () => void): void {
  const hadTerminal = process.stdin.isTTY || process.stdout.isTTY;
  process.on('SIGHUP', () => {
    if (hadTerminal && !hasTerminal()) process.kill(process.pid, 'SIGTERM');
    else reload();
  });
}

function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
