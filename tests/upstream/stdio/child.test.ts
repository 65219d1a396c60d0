import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/errors/failure.ts';
import type { Reception } from '../../../src/upstream/reception.ts';
import { Child, type ChildLimits, type ChildSink } from '../../../src/upstream/stdio/child.ts';
import { ChildExit } from '../../../src/upstream/stdio/child-exit.ts';
import type { ChildCommand } from '../../../src/upstream/stdio/start.ts';
import type { Message } from '../../../src/wire/message.ts';
import { realClock } from '../support/clock.ts';
import { anyFlood, isRunning, node, shell } from '../support/processes.ts';
import { NotesRecorder, text } from '../support/recorders.ts';

const limits: ChildLimits = {
  lineBytes: 4096,
  stderrBytes: 2048,
  childStopMs: 150,
  stdinBytes: 256 * 1024,
};
const started: Child[] = [];
afterEach(async () => {
  await Promise.all(started.map((child) => child.stop()));
  for (const { pid } of started.splice(0)) expect(isRunning(pid)).toBe(false);
});

class Listener implements ChildSink {
  readonly messages: string[] = [];
  readonly oversize: Failure[] = [];
  readonly exits: Failure[] = [];
  #watchers: (() => void)[] = [];

  message(message: Message): Reception {
    this.messages.push(text(message));
    this.#changed();
    return 'session';
  }
  oversized(failure: Failure): void {
    this.oversize.push(failure);
    this.#changed();
  }
  unreadable(): Reception {
    return 'none';
  }
  exited(failure: Failure): void {
    this.exits.push(failure);
    this.#changed();
  }
  busy(): boolean {
    return false;
  }
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#watchers.push(resolve));
  }
  #changed(): void {
    for (const watcher of this.#watchers.splice(0)) watcher();
  }
}

async function start(command: ChildCommand, environment = process.env, childStopMs = limits.childStopMs) {
  const notes = new NotesRecorder();
  const child = await Child.start({
    command,
    limits: { ...limits, childStopMs },
    flood: anyFlood(),
    clock: realClock,
    notes,
    environment,
  });
  started.push(child);
  const listener = new Listener();
  child.attach(listener);
  return { child, listener, notes };
}

const hello = '{"jsonrpc":"2.0","method":"hello"}';
/** Says its own and its grandchild's process ids in a message. */
const family = `echo "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"family\\",\\"params\\":{\\"pid\\":$!}}"`;
const grandchild = (message: string | undefined): number => JSON.parse(message ?? '').params.pid;

describe('the output of a child process', () => {
  const rows: readonly { name: string; print: string; messages: readonly string[]; noise?: readonly string[] }[] = [
    { name: 'one message per line', print: `${hello}\n${hello}\n`, messages: [hello, hello] },
    { name: 'CRLF and empty lines', print: `\r\n${hello}\r\n\n`, messages: [hello] },
    { name: 'a last line without a line break', print: hello, messages: [hello] },
    { name: 'an array (2025-03-26)', print: `[${hello},${hello}]\n`, messages: [hello, hello] },
    {
      name: 'noise between messages',
      print: `Server listening...\n${hello}\n{"level":"info"}\n`,
      messages: [hello],
      noise: ['Server listening...', '{"level":"info"}'],
    },
  ];
  it.each(rows)('$name', async ({ print, messages, noise = [] }) => {
    const { listener, notes } = await start(shell('printf %s "$TEXT"', { TEXT: print }));
    await listener.until(() => listener.exits.length === 1);
    expect(listener.messages).toEqual(messages);
    expect(notes.of('stdout')).toEqual(noise);
  });

  it('a line over the limit is skipped, and the next one is read', async () => {
    const { listener, notes } = await start(shell(`head -c 100000 /dev/zero | tr '\\0' x; echo; echo '${hello}'`));
    await listener.until(() => listener.messages.length === 1);
    expect(listener.oversize.map(({ reason }) => reason)).toEqual(['backend_too_large']);
    expect(notes.of('unreadable')).toHaveLength(1);
  });

  it('noise is truncated before it is reported', async () => {
    const { listener, notes } = await start(shell('head -c 3000 /dev/zero | tr "\\0" x; echo'));
    await listener.until(() => listener.exits.length === 1);
    expect(notes.of('stdout')[0]?.length).toBeLessThan(250);
  });
});

describe('the environment of a child process', () => {
  it('contains what it needs to run, and its configuration; nothing else of ours', async () => {
    const own = { PATH: process.env.PATH, HOME: '/home/x', API_KEY: 'secret', SHELL: '() { :; }; echo oops' };
    const { listener, notes } = await start(shell('env', { TOKEN: 'given', HOME: '/home/y' }), own);
    await listener.until(() => listener.exits.length === 1);
    const lines = notes.of('stdout');
    expect(lines).toContain('TOKEN=given');
    expect(lines).toContain('HOME=/home/y');
    expect(lines.join('\n')).not.toMatch(/secret|oops/);
  });

  it('is passed as configured: no shell reads its arguments', async () => {
    const { listener, notes } = await start({ command: 'echo', args: ['$HOME; exit 1', '*'], env: {} });
    await listener.until(() => listener.exits.length === 1);
    expect(notes.of('stdout')).toEqual(['$HOME; exit 1 *']);
  });
});

describe('a command that cannot be started', () => {
  it.each([
    { name: 'no such program', command: { command: '/no/such/program', args: [], env: {} } },
    { name: 'no such folder', command: { command: 'sh', args: [], env: {}, cwd: '/no/such/folder' } },
    { name: 'an argument that no system takes', command: { command: 'sh', args: ['a\0b'], env: {} } },
  ])('$name', async ({ command }) => {
    const options = { command, limits, flood: anyFlood(), clock: realClock, notes: new NotesRecorder() };
    await expect(Child.start(options)).rejects.toMatchObject({ reason: 'backend_unavailable' });
  });
});

describe('a child process that exits by itself', () => {
  it('reports once, with its code and the tail of its stderr, after its last messages', async () => {
    const { listener, child } = await start(shell(`echo '${hello}'; echo 'Error: no licence' >&2; exit 3`));
    await listener.until(() => listener.exits.length === 1);
    expect(listener.messages).toEqual([hello]);
    const [failure] = listener.exits;
    expect(failure?.reason).toBe('backend_unavailable');
    expect(failure?.message).not.toContain('licence');
    expect(failure?.data).toBeUndefined();
    expect(failure?.cause).toBeInstanceOf(ChildExit);
    expect(failure?.cause).toMatchObject({ code: 3, signal: null, stderr: 'Error: no licence\n' });
    await child.gone;
    expect(listener.exits).toHaveLength(1);
    expect(await child.ended).toBe(failure);
    expect(() => child.send(Buffer.from('{}\n'))).toThrow(failure);
  });

  it('reports the signal', async () => {
    const { listener } = await start(shell('kill -9 $$'));
    await listener.until(() => listener.exits.length === 1);
    expect(listener.exits[0]?.cause).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  it('ends its own children, also when they hold its output open', async () => {
    const { listener, child } = await start(shell(`sleep 1000 & ${family}; exit 0`));
    await listener.until(() => listener.exits.length === 1);
    await child.gone;
    expect(isRunning(grandchild(listener.messages[0]))).toBe(false);
  });

  it('counts as ended when it closes its output and stays', async () => {
    const { listener, child } = await start(shell(`echo '${hello}'; exec >&- 2>&-; exec sleep 1000`));
    await listener.until(() => listener.exits.length === 1);
    expect(listener.messages).toEqual([hello]);
    await child.gone;
    expect(isRunning(child.pid)).toBe(false);
  });

  it('is reported to a listener that comes later', async () => {
    const child = await Child.start({
      command: shell('exit 1'),
      limits,
      flood: anyFlood(),
      clock: realClock,
      notes: new NotesRecorder(),
    });
    started.push(child);
    await child.gone;
    const listener = new Listener();
    child.attach(listener);
    expect(listener.exits).toEqual([]);
    await listener.until(() => listener.exits.length === 1);
  });
});

describe('ending a child', () => {
  it('closing its stdin is enough for a well-behaved one', async () => {
    const { listener, child } = await start(shell(`cat > /dev/null; echo '${hello}'`), process.env, 10_000);
    await child.stop();
    expect(listener.messages).toEqual([hello]);
    expect(listener.exits).toEqual([]);
    expect(await child.ended).toBeUndefined();
  });

  it('SIGTERM ends one that does not read', async () => {
    const { listener, child } = await start(
      shell(
        `trap 'echo "{\\"jsonrpc\\":\\"2.0\\",\\"method\\":\\"term\\"}"; exit' TERM; echo '${hello}'; while :; do sleep 0.05; done`,
      ),
      process.env,
      500,
    );
    await listener.until(() => listener.messages.length === 1);
    await child.stop();
    expect(listener.messages).toHaveLength(2);
  });

  it('SIGKILL ends one that ignores SIGTERM', async () => {
    const { listener, child } = await start(
      node(`process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('${hello}')`),
    );
    await listener.until(() => listener.messages.length === 1);
    await child.stop();
    expect(isRunning(child.pid)).toBe(false);
  });

  it.each([
    {
      name: 'a grandchild that outlives a polite child',
      script: `sleep 1000 > /dev/null 2>&1 & ${family}; cat > /dev/null`,
    },
    {
      name: 'a grandchild that ignores SIGTERM',
      script: `(trap '' TERM; sleep 1000 > /dev/null) & ${family}; cat > /dev/null`,
    },
    { name: 'a grandchild that its parent waits for', script: `sleep 1000 & ${family}; wait` },
  ])('$name is ended too', async ({ script }) => {
    const { listener, child } = await start(shell(script));
    await listener.until(() => listener.messages.length === 1);
    await child.stop();
    expect(isRunning(grandchild(listener.messages[0]))).toBe(false);
    expect(listener.exits).toEqual([]);
  });

  it('happens once, however often it is requested', async () => {
    const { child } = await start(shell('cat > /dev/null'));
    await Promise.all([child.stop(), child.stop()]);
    await child.stop();
  });

  it('is reported to its listener if another caller decided it', async () => {
    const { listener, child } = await start(shell('cat > /dev/null'));
    const { Failure } = await import('../../../src/errors/failure.ts');
    await child.stop(new Failure('backend_unavailable', { message: 'idle' }));
    expect(listener.exits.map(({ message }) => message)).toEqual(['idle']);
    expect(await child.ended).toBeUndefined();
  });
});

describe('when we end without having ended our children', () => {
  it('their groups end with us', async () => {
    const careless = fileURLToPath(new URL('./careless.ts', import.meta.url));
    const { listener, child } = await start({
      command: process.execPath,
      args: ['--import', 'tsx', careless, `sleep 1000 & ${family}; wait`],
      env: {},
    });
    await child.gone;
    const pid = grandchild(listener.messages[0]);
    while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
  });
});

describe('writing to a child', () => {
  it('that does not read ends in backend_busy, not in memory', async () => {
    const { child, listener } = await start(shell(`echo '${hello}'; exec sleep 1000`));
    await listener.until(() => listener.messages.length === 1);
    const line = Buffer.alloc(64 * 1024, 'x');
    const flood = (): void => {
      for (let i = 0; i < 100; i++) child.send(line);
    };
    expect(flood).toThrow(expect.objectContaining({ reason: 'backend_busy' }));
  });

  it('that closed its stdin breaks nothing', async () => {
    const { child, listener } = await start(shell(`exec <&-; echo '${hello}'; sleep 0.3; echo '${hello}'`));
    await listener.until(() => listener.messages.length === 1);
    try {
      for (let i = 0; i < 20; i++) {
        child.send(Buffer.from('{}\n'));
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (failure) {
      expect(failure).toMatchObject({ reason: 'backend_unavailable' });
    }
    await listener.until(() => listener.exits.length === 1);
    expect(listener.messages).toHaveLength(2);
  });
});

describe('stderr', () => {
  it('is reported by lines, truncated and bounded, and its tail is kept', async () => {
    const { listener, notes } = await start(
      shell('echo first >&2; yes "a line of noise" | head -n 20000 >&2; printf "the last one" >&2; exit 1'),
    );
    await listener.until(() => listener.exits.length === 1);
    const lines = notes.of('stderr');
    expect(lines[0]).toBe('first');
    expect(lines.join('').length).toBeLessThan(limits.stderrBytes + 100);
    expect(lines.at(-1)).toMatch(/^\(\d+ more lines left out\)$/);
    const stderr = (listener.exits[0]?.cause as ChildExit | undefined)?.stderr ?? '';
    expect(stderr.endsWith('a line of noise\nthe last one')).toBe(true);
    expect(stderr.length).toBe(limits.stderrBytes);
  });
});
