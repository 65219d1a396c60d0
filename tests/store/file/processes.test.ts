import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compiled } from '../../compiled.ts';
import { verifies } from '../../requirements/verifies.ts';
import { openStore, temporaryDirectory } from './directory.ts';

const WORKER = compiled(new URL('./worker.ts', import.meta.url));

interface Worker {
  readonly process: ChildProcess;
  readonly lines: AsyncIterator<string>;
  readonly exited: Promise<unknown>;
}

const workerArguments = (what: string, dir: string) => [WORKER, what, dir];

function follow(process: ChildProcess): Worker {
  onTestFinished(() => {
    process.kill('SIGKILL');
  });
  if (process.stdout === null) throw new Error('a worker speaks');
  const lines: Interface = createInterface({ input: process.stdout });
  return { process, lines: lines[Symbol.asyncIterator](), exited: once(process, 'exit') };
}

const startWorker = (what: string, dir: string) =>
  follow(spawn(process.execPath, workerArguments(what, dir), { stdio: ['pipe', 'pipe', 'inherit'] }));

async function nextLine({ lines }: Worker): Promise<string> {
  const next = await lines.next();
  return next.done === true ? '' : next.value;
}

describe('several processes with one file store', { ...verifies('gateway:store:processes'), timeout: 60_000 }, () => {
  it('take, replace and lease everything once, and lose no step of a count', async () => {
    const dir = temporaryDirectory();
    const { records } = await openStore(dir);
    for (let i = 0; i < 200; i++) {
      await records.put('taken', `${i}`, 'v');
      await records.put('replaced', `${i}`, 'before');
    }
    const workers = [startWorker('fight', dir), startWorker('fight', dir)];
    for (const worker of workers) expect(await nextLine(worker)).toBe('ready');
    for (const { process } of workers) process.stdin?.end('go\n');
    const won = (await Promise.all(workers.map(nextLine))).flatMap((line) => JSON.parse(line) as string[]);
    await Promise.all(workers.map(({ exited }) => exited));
    expect(won).toHaveLength(600);
    expect(new Set(won).size).toBe(600);
    expect(await records.get('counted', 'sum')).toBe('400');
    expect(await records.keys('taken', '', 9)).toEqual([]);
  });
});

describe('a process that is killed', { ...verifies('gateway:store:durable'), timeout: 60_000 }, () => {
  it('leaves all records intact, and a store that others can use', async () => {
    const dir = temporaryDirectory();
    const beside = await openStore(dir);
    let from = 0;
    for (const lines of [1, 40, 150]) {
      const worker = startWorker('write', dir);
      expect(await nextLine(worker)).toBe('ready');
      worker.process.stdin?.end('go\n');
      let last = -1;
      for (let read = 0; read < lines; read++) last = Number(await nextLine(worker));
      worker.process.kill('SIGKILL');
      await worker.exited;
      await beside.records.put('beside', `${from++}`, 'v');
      const again = await openStore(dir);
      for (let i = 0; i <= last; i++) {
        expect(await again.records.get('one', `${i}`)).toBe(`${i}:`.repeat(500));
        expect(await again.records.get('other', `${i}`)).toBe('v');
      }
      const both = await Promise.all(['one', 'other'].map((name) => again.records.keys(name, '', 100_000)));
      expect(both[0]).toEqual(both[1]);
    }
  });
});

/** A mount of its own, where this user may make one: as root, or in a user namespace. */
const namespaces = [
  ['unshare', '--mount'],
  ['unshare', '--user', '--map-root-user', '--mount'],
];
const inNamespace = namespaces.find(([command = '', ...args]) => {
  const { status } = spawnSync(command, [...args, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']);
  return status === 0;
});

// LMDB's answer to a disk that is full from the start is a signal, which only a real file system shows.
describe.runIf(inNamespace !== undefined)(
  'a disk that is full when the store is first opened',
  { ...verifies('gateway:store:named-errors'), timeout: 60_000 },
  () => {
    it.each([0, 4, 8, 12, 16, 32, 64, 256])('is a named error with %i KB free', async (free) => {
      const [command = '', ...args] = inNamespace ?? [];
      const script = `mount -t tmpfs -o size=2m tmpfs /mnt && head -c ${(2048 - free) * 1024} /dev/zero > /mnt/fill; exec "$0" "$@"`;
      const worker = follow(
        spawn(command, [...args, 'sh', '-c', script, process.execPath, ...workerArguments('open', '/mnt/store')], {
          stdio: ['pipe', 'pipe', 'inherit'],
        }),
      );
      expect(JSON.parse(await nextLine(worker))).toEqual({ kind: 'full' });
      expect(await worker.exited).toEqual([0, null]);
    });
  },
);

describe('a disk without room', { ...verifies('gateway:store:named-errors'), timeout: 60_000 }, () => {
  it.skipIf(process.platform === 'win32')('is a named error; existing records can be read', async () => {
    const dir = temporaryDirectory();
    // A limit on the size of files is the full disk that every machine has. Its signal has to be ignored from the
    // start.
    const command = `trap '' XFSZ; ulimit -f 4000; exec "$0" "$@"`;
    const worker = follow(
      spawn('sh', ['-c', command, process.execPath, ...workerArguments('fill', dir)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      }),
    );
    expect(await nextLine(worker)).toBe('ready');
    worker.process.stdin?.end('go\n');
    const told = JSON.parse(await nextLine(worker));
    expect(told).toMatchObject({ named: true, kept: true });
    expect(await worker.exited).toEqual([0, null]);
    const { records } = await openStore(dir);
    expect(await records.keys('a', '', 100_000)).toHaveLength(told.written);
    await records.put('a', 'next', 'v');
  });
});
