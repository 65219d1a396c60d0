/**
 * A control group for one sandbox: the kernel counts memory and processes of everything in it, whatever it starts. In
 * version 2 of control groups, or in version 1 where the machine still has that.
 */
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface GroupLimits {
  readonly memoryBytes?: number | undefined;
  readonly processes?: number | undefined;
}

/** What has ended a sandbox. */
export type Breach = 'memory' | 'processes';

/** Why the machine has no control groups for us: for people. */
export class NoControlGroup extends Error {
  override readonly name = 'NoControlGroup';
}

type GroupLimit = keyof GroupLimits;

/** The files of one controller, in one version. */
interface GroupController {
  /** As /proc/self/cgroup and `cgroup.controllers` call it. */
  readonly name: string;
  readonly breach: Breach;
  /** Files and their values. Those with `optional` are not on every machine. */
  limits(limit: number): readonly { readonly file: string; readonly value: string; readonly optional?: true }[];
  readonly events: string;
  /** A line with this name counts breaches. */
  readonly counter: string;
}

const processes: Omit<GroupController, 'limits'> = {
  ...{ name: 'pids', breach: 'processes', events: 'pids.events', counter: 'max' },
};
const processLimit = (limit: number) => [{ file: 'pids.max', value: String(limit) }];

const version1: Readonly<Record<GroupLimit, GroupController>> = {
  memoryBytes: {
    ...{ name: 'memory', breach: 'memory', events: 'memory.oom_control', counter: 'oom_kill' },
    limits: (limit) => [
      { file: 'memory.limit_in_bytes', value: String(limit) },
      // Together with swap. Only after the other one can it be as low.
      { file: 'memory.memsw.limit_in_bytes', value: String(limit), optional: true },
    ],
  },
  processes: { ...processes, limits: processLimit },
};

const version2: Readonly<Record<GroupLimit, GroupController>> = {
  memoryBytes: {
    ...{ name: 'memory', breach: 'memory', events: 'memory.events', counter: 'oom_kill' },
    limits: (limit) => [
      { file: 'memory.max', value: String(limit) },
      { file: 'memory.swap.max', value: '0', optional: true },
      { file: 'memory.oom.group', value: '1', optional: true },
    ],
  },
  processes: { ...processes, limits: processLimit },
};

/** Where groups can be made, for one limit. */
interface GroupPlace {
  readonly controller: GroupController;
  readonly limit: number;
  /** The directory of the parent group. */
  readonly parent: string;
}

/** Our part of /proc. */
export interface CgroupFacts {
  /** /proc/self/cgroup */
  readonly own: string;
  /** /proc/self/mountinfo */
  readonly mounts: string;
}

const PREFIX = 'bascule-';
let made = 0;

/** Throws a NoControlGroup. Makes no group. */
export function groupPlaces(limits: GroupLimits, facts: CgroupFacts = factsOfOurs()): readonly GroupPlace[] {
  return (['memoryBytes', 'processes'] as const).flatMap((name) => {
    const limit = limits[name];
    if (limit === undefined) return [];
    const place = placeOf(name, facts);
    checkWritable(place.parent);
    return [{ limit, ...place }];
  });
}

function checkWritable(parent: string): void {
  try {
    accessSync(parent, constants.W_OK);
  } catch {
    throw new NoControlGroup(`the gateway may not make control groups in ${parent}`);
  }
}

function factsOfOurs(): CgroupFacts {
  try {
    const [own, mounts] = ['cgroup', 'mountinfo'].map((name) => readFileSync(`/proc/self/${name}`, 'utf8'));
    return { own: own ?? '', mounts: mounts ?? '' };
  } catch {
    throw new NoControlGroup('this machine has no control groups (Linux alone has them)');
  }
}

function placeOf(name: GroupLimit, { own, mounts }: CgroupFacts): Pick<GroupPlace, 'controller' | 'parent'> {
  const lines = own.split('\n').map((line) => {
    const [, controllers = '', ...path] = line.split(':');
    return { controllers: controllers.split(','), path: path.join(':') };
  });
  const old = version1[name];
  const ofOld = lines.find(({ controllers }) => controllers.includes(old.name));
  if (ofOld !== undefined) {
    const parent = inMount(mounts, ofOld.path, 'cgroup', old.name);
    if (parent !== undefined) return { controller: old, parent };
  }
  const unified = lines.find(({ controllers }) => controllers.join() === '');
  const folder = unified && inMount(mounts, unified.path, 'cgroup2');
  if (folder === undefined)
    throw new NoControlGroup(`this machine has no control group for ${old.name}: mount cgroup2 at /sys/fs/cgroup`);
  return { controller: version2[name], parent: delegated(folder, version2[name].name) };
}

/** The directory of a group. `controller`: among the options of the mount, in version 1. */
function inMount(mounts: string, path: string, type: string, controller?: string): string | undefined {
  for (const line of mounts.split('\n')) {
    const [before = '', after = ''] = line.split(' - ', 2);
    const [kind, , options = ''] = after.split(' ');
    if (kind !== type || (controller !== undefined && !options.split(',').includes(controller))) continue;
    // In a container the root of the mount may be a group below the real root.
    const [, , , root = '/', at = ''] = before.split(' ');
    return join(at, root !== '/' && path.startsWith(root) ? path.slice(root.length) : path);
  }
  return undefined;
}

/**
 * A group with processes has no groups below it that count (the rule of "no internal processes"). So ours is a leaf,
 * and groups are made beside it: systemd does that with `Delegate=yes` and `DelegateSubgroup=`.
 */
function delegated(own: string, controller: string): string {
  const candidates = [dirname(own), own];
  const found = candidates.find((folder) => isEnabled(folder, controller));
  if (found !== undefined) return found;
  throw new NoControlGroup(
    `the gateway’s control group ${own} may not have groups of its own for ${controller}: ` +
      'start it by systemd with `Delegate=yes` and `DelegateSubgroup=gateway`, or set `memory: none` and `processes: none`',
  );
}

function isEnabled(folder: string, controller: string): boolean {
  const file = join(folder, 'cgroup.subtree_control');
  const has = () => readFileSync(file, 'utf8').trim().split(' ').includes(controller);
  try {
    if (!has()) writeFileSync(file, `+${controller}`);
    return has();
  } catch {
    return false;
  }
}

/** The group of one process. */
export class ControlGroup {
  readonly #folders: readonly { readonly folder: string; readonly controller: GroupController }[];

  /** Throws a NoControlGroup. */
  constructor(places: readonly GroupPlace[]) {
    made += 1;
    const name = `${PREFIX}${process.pid}-${made}`;
    const folders: { folder: string; controller: GroupController }[] = [];
    this.#folders = folders;
    for (const { controller, limit, parent } of places) {
      removeLeftovers(parent);
      const folder = join(parent, name);
      try {
        if (!folders.some((other) => other.folder === folder)) mkdirSync(folder);
        folders.push({ folder, controller });
        for (const { file, value, optional } of controller.limits(limit)) put(join(folder, file), value, optional);
      } catch (error) {
        this.remove();
        const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
        throw new NoControlGroup(`no control group for ${controller.name} can be made in ${parent} (${code})`);
      }
    }
  }

  /** Everything that the process starts from then on is in it, too. */
  add(pid: number): void {
    for (const folder of this.#unique) writeFileSync(join(folder, 'cgroup.procs'), String(pid));
  }

  /** The first limit that was hit. */
  get breach(): Breach | undefined {
    return this.#folders.find(({ folder, controller }) => countIn(join(folder, controller.events), controller) > 0)
      ?.controller.breach;
  }

  /** False: there are still processes in it. */
  remove(): boolean {
    return this.#unique.map(isRemoved).every(Boolean);
  }

  get #unique(): readonly string[] {
    return [...new Set(this.#folders.map(({ folder }) => folder))];
  }
}

function put(file: string, value: string, optional: true | undefined): void {
  try {
    writeFileSync(file, value);
  } catch (error) {
    if (optional !== true) throw error;
  }
}

function countIn(file: string, { counter }: GroupController): number {
  try {
    const line = readFileSync(file, 'utf8')
      .split('\n')
      .find((one) => one.startsWith(`${counter} `));
    return Number(line?.slice(counter.length + 1) ?? 0);
  } catch {
    return 0;
  }
}

/** Groups of gateways that were killed. */
function removeLeftovers(parent: string): void {
  let names: readonly string[] = [];
  try {
    names = readdirSync(parent);
  } catch {
    // Making the group says what is wrong.
  }
  for (const name of names) {
    const pid = /^bascule-(\d+)-\d+$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) isRemoved(join(parent, name));
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT';
  }
}
