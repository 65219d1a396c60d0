/** Where control groups can be made, by what the system says of itself. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ControlGroup, groupPlaces, NoControlGroup } from '../../../src/upstream/stdio/sandbox/cgroups.ts';

/** A hierarchy that is a folder: the files take what is written, and nothing is limited. */
function tree(folders: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'bascule-cgroups-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const [path, controllers] of Object.entries(folders)) {
    mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, path, 'cgroup.subtree_control'), controllers);
  }
  return root;
}

const mount = (root: string, type: string, options = 'rw', at = '/') =>
  `30 20 0:25 ${at} ${root} rw,nosuid - ${type} ${type} ${options}`;
const limits = { memoryBytes: 1_000_000, processes: 20 };

describe('control groups', () => {
  it('of version 2 are made beside ours, where the group above is delegated', () => {
    const root = tree({ unit: 'memory pids\n', 'unit/gateway': '' });
    const places = groupPlaces(limits, { own: '0::/unit/gateway\n', mounts: mount(root, 'cgroup2') });
    expect(places.map(({ parent }) => parent)).toEqual([join(root, 'unit'), join(root, 'unit')]);
    const group = new ControlGroup(places);
    const folder = join(root, 'unit', `bascule-${process.pid}-1`);
    const read = (name: string) => readFileSync(join(folder, name), 'utf8');
    expect(['memory.max', 'memory.swap.max', 'memory.oom.group', 'pids.max'].map(read)).toEqual([
      '1000000',
      '0',
      '1',
      '20',
    ]);
    group.add(4711);
    expect(read('cgroup.procs')).toBe('4711');
    expect(group.breach).toBeUndefined();
    writeFileSync(join(folder, 'pids.events'), 'max 0\n');
    writeFileSync(join(folder, 'memory.events'), 'low 0\noom 1\noom_kill 0\n');
    expect(group.breach).toBeUndefined();
    writeFileSync(join(folder, 'pids.events'), 'max 3\n');
    expect(group.breach).toBe('processes');
    writeFileSync(join(folder, 'memory.events'), 'low 0\noom 1\noom_kill 2\n');
    expect(group.breach).toBe('memory');
  });

  it('of version 1 are made below ours, each in its hierarchy', () => {
    const [memory, pids] = [tree({ own: '' }), tree({ other: '' })];
    const mounts = [mount(memory, 'cgroup', 'rw,memory'), mount(pids, 'cgroup', 'rw,pids')].join('\n');
    const own = '8:pids:/other\n4:memory:/own\n0::/\n';
    const places = groupPlaces(limits, { own, mounts });
    expect(places.map(({ parent }) => parent)).toEqual([join(memory, 'own'), join(pids, 'other')]);
  });

  it('of a container are found below the root of its mount', () => {
    const root = tree({ unit: 'memory pids', 'unit/gateway': '' });
    const facts = { own: '0::/docker/abc/unit/gateway\n', mounts: mount(root, 'cgroup2', 'rw', '/docker/abc') };
    expect(groupPlaces(limits, facts)[0]?.parent).toBe(join(root, 'unit'));
  });

  it.each([
    ['there is no mount', { own: '0::/x\n', mounts: '' }, 'no control group for memory'],
    ['nothing is delegated', { own: '0::/x/y\n', mounts: mount('/nonexistent', 'cgroup2') }, 'Delegate=yes'],
  ])('are refused by name where %s', (_why, facts, text) => {
    expect(() => groupPlaces(limits, facts)).toThrow(NoControlGroup);
    expect(() => groupPlaces(limits, facts)).toThrow(text);
  });

  it('are not asked for where nothing is limited', () => {
    expect(groupPlaces({}, { own: '', mounts: '' })).toEqual([]);
  });

  it('of a process that is gone are removed', () => {
    const root = tree({ unit: 'memory pids', 'unit/gateway': '' });
    // No process has this number: it is over the limit of the kernel.
    const left = join(root, 'unit', 'bascule-99999999-1');
    mkdirSync(left);
    const facts = { own: '0::/unit/gateway\n', mounts: mount(root, 'cgroup2') };
    expect(new ControlGroup(groupPlaces({ processes: 20 }, facts))).toBeDefined();
    expect(existsSync(left)).toBe(false);
  });
});
