import { readFileSync } from 'node:fs';
import { FloodBudget } from '../../../src/upstream/flood-meter.ts';

/** Whether a process runs. A zombie does not run: a container may have no process that reaps orphans. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3) !== 'Z';
  } catch {
    try {
      process.kill(pid, 0);
      return process.platform !== 'linux';
    } catch {
      return false;
    }
  }
}

/** A shell, since it starts at once. */
export function shell(script: string, env: Readonly<Record<string, string>> = {}) {
  return { command: 'sh', args: ['-c', script], env };
}

export function node(script: string) {
  return { command: process.execPath, args: ['-e', script], env: {} };
}

/** For suites that are about something else. */
export function anyFlood(): FloodBudget {
  return new FloodBudget({ unsolicitedMessages: 1000, unsolicitedMs: 1000, unsolicitedPeriods: 10 });
}
