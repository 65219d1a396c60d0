/**
 * A group of processes that together get at most a share of one core: a control group, version 1 or 2. Needs root on
 * Linux.
 */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PERIOD_US = 100_000;
const V1 = '/sys/fs/cgroup/cpu';
const V2 = '/sys/fs/cgroup';

export class ControlGroup {
  readonly #directory: string;
  readonly #isV1: boolean;

  private constructor(directory: string, isV1: boolean) {
    this.#directory = directory;
    this.#isV1 = isV1;
  }

  /** Throws where the machine has no control groups, or this user may not make one. */
  static make(name: string, cores: number): ControlGroup {
    const isV1 = existsSync(join(V1, 'cpu.cfs_quota_us'));
    const directory = join(isV1 ? V1 : V2, `bascule-bench-${process.pid}-${name}`);
    try {
      mkdirSync(directory);
      const quota = Math.round(cores * PERIOD_US);
      if (isV1) {
        writeFileSync(join(directory, 'cpu.cfs_period_us'), String(PERIOD_US));
        writeFileSync(join(directory, 'cpu.cfs_quota_us'), String(quota));
      } else writeFileSync(join(directory, 'cpu.max'), `${quota} ${PERIOD_US}`);
    } catch (cause) {
      throw new Error('this bench holds processes to a share of a core: it needs root, and control groups for `cpu`', {
        cause,
      });
    }
    return new ControlGroup(directory, isV1);
  }

  /** A command that joins the group before it becomes the program. */
  within(command: string, args: readonly string[]): { command: string; args: readonly string[] } {
    const script = `echo $$ > '${this.#directory}/cgroup.procs' && exec "$0" "$@"`;
    return { command: '/bin/sh', args: ['-c', script, command, ...args] };
  }

  add(pid: number): void {
    writeFileSync(join(this.#directory, 'cgroup.procs'), String(pid));
  }

  pids(): number[] {
    const text = readFileSync(join(this.#directory, 'cgroup.procs'), 'utf8');
    return text.split('\n').filter(Boolean).map(Number);
  }

  signal(signal: NodeJS.Signals): void {
    for (const pid of this.pids()) {
      try {
        process.kill(pid, signal);
      } catch {
        // It ended by itself.
      }
    }
  }

  /** Its processes may use what they want. */
  release(): void {
    if (this.#isV1) writeFileSync(join(this.#directory, 'cpu.cfs_quota_us'), '-1');
    else writeFileSync(join(this.#directory, 'cpu.max'), 'max');
  }

  async remove(): Promise<void> {
    this.signal('SIGKILL');
    const until = Date.now() + 5_000;
    while (this.pids().length > 0 && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 50));
    rmdirSync(this.#directory);
  }
}
