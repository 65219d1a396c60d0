/** Backends in sandboxes that try to get out, and what becomes of them. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Json, send, until } from '../interaction/harness/client.ts';
import { modern } from '../interaction/harness/eras.ts';
import { run, type Served, serve } from '../interaction/harness/program.ts';
import { verifies } from '../requirements/verifies.ts';

const SECRET = 'a-secret-of-the-gateway';
const PROCESSES = 64;
const MEMORY = '128MiB';

interface Prison {
  readonly served: Served;
  /** The working directory of the gateway. */
  readonly home: string;
  /** What the sandbox shows, for reading. */
  readonly shown: string;
  /** What it shows for writing. */
  readonly open: string;
  attempt(tool: string, args?: object, backend?: string): Promise<Json>;
  /** The text of the answer. */
  ask(tool: string, args?: object): Promise<string>;
}

function folder(name: string): string {
  const made = mkdtempSync(join(tmpdir(), `bascule-${name}-`));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A folder that another user can read, too: sandboxes of root belong to nobody. */
function files(): { shown: string; open: string; home: string; program: string } {
  const [shown, open, home] = [folder('shown'), folder('open'), folder('home')];
  chmodSync(shown, 0o755);
  chmodSync(open, 0o777);
  const program = join(shown, 'prisoner.cjs');
  copyFileSync(join(import.meta.dirname, 'prisoner.js'), program);
  return { shown, open, home, program };
}

async function prison(sandbox: object = {}, more: object = {}): Promise<Prison> {
  const { shown, open, home, program } = files();
  const limits = { memory: MEMORY, processes: PROCESSES };
  const node = { command: process.execPath, args: [program] };
  const box = { read: [shown], write: [open], ...limits, ...sandbox };
  const config = {
    backends: { held: { ...node, env: { GIVEN: 'a value' }, sandbox: box, ...more }, free: node },
    store: { dir: 'state' },
    limits: { restartMinMs: '100ms' },
  };
  mkdirSync(join(home, 'state'));
  writeFileSync(join(home, 'state', 'keys.json'), SECRET);
  writeFileSync(join(home, 'bascule.yaml'), JSON.stringify(config));
  const served = await serve([], { folder: home, env: { SECRET, HOME: home } });
  await served.program.says(/^ {2}free {2}ready/m);
  const attempt = async (name: string, args: object = {}, backend = 'held') =>
    (await send(served.url(backend), modern({ method: 'tools/call', params: { name, arguments: args } }))).json();
  const ask = async (tool: string, args: object = {}) => {
    const answer = await attempt(tool, args);
    if (answer.result === undefined) throw new Error(`${JSON.stringify(answer)} ${served.program.obituary}`);
    return answer.result.content[0].text as string;
  };
  return { served, home, shown, open, attempt, ask };
}

/** Processes of the machine that run the program, as the system sees them. */
function prisoners(shown: string): readonly number[] {
  const all = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  return all.filter((line) => line.includes(shown)).map((line) => Number.parseInt(line, 10));
}

describe('a backend in a sandbox', verifies('gateway:sandbox:holds'), () => {
  it('sees neither the environment nor the files of the gateway', async () => {
    const { ask, home, served } = await prison();
    expect(await ask('read', { path: `/proc/${served.program.pid}/environ` })).toMatch(/^refused: ENOENT/);
    const environs = await ask('environs');
    expect(environs).toContain('done:');
    expect(environs).not.toContain(SECRET);
    for (const path of ['state/keys.json', 'bascule.yaml', 'state/control.sock'])
      expect(await ask('read', { path: join(home, path) })).toBe('refused: ENOENT');
    expect(await ask('list', { path: tmpdir() })).not.toContain('home');
  });

  it('has only the environment that the config gives it', async () => {
    const { ask } = await prison();
    const env = JSON.parse(await ask('env'));
    expect(env).toMatchObject({ GIVEN: 'a value', HOME: '/tmp' });
    const known = ['GIVEN', 'HOME', 'LANG', 'PATH', 'PWD', 'TZ', 'SHLVL', '_', 'OLDPWD'];
    expect(Object.keys(env).filter((name) => !known.includes(name) && !name.startsWith('BASCULE_'))).toEqual([]);
  });

  it('has no part in the start of its sandbox, with what it may change and where its config looks', async () => {
    const { attempt, ask, open, home } = await prison();
    const mark = join(open, 'marked');
    const planted = `#!/bin/sh\nid -u > ${mark}\nexec /usr/bin/bwrap "$@"\n`;
    expect(await ask('plant', { path: join(open, 'bwrap'), text: planted })).toBe('done: undefined');
    const config = JSON.parse(readFileSync(join(home, 'bascule.yaml'), 'utf8'));
    config.backends.held.env = { PATH: `${open}:/usr/local/bin:/usr/bin:/bin`, LD_PRELOAD: join(open, 'none.so') };
    writeFileSync(join(home, 'bascule.yaml'), JSON.stringify(config));
    // Until the new config is in force. The time limit of the test ends it.
    for (let env = ''; !env.includes('none.so'); ) env = JSON.stringify(await attempt('env'));
    expect(existsSync(mark)).toBe(false);
  });

  it('reaches no port of this machine, unless the config says so', async () => {
    const [held, open] = [await prison(), await prison({ network: true })];
    const portOf = ({ served }: Prison) => Number(new URL(served.origin).port);
    expect(await held.ask('connect', { port: portOf(held) })).toMatch(/^refused: E/);
    expect(await open.ask('connect', { port: portOf(open) })).toBe('done: connected');
  });

  it('writes only where the config says, and to a /tmp of its own', async () => {
    const { ask, shown, open } = await prison();
    expect(await ask('write', { path: join(shown, 'x') })).toMatch(/^refused: E(ROFS|ACCES)/);
    for (const path of ['/usr/x', '/etc/x', '/x']) expect(await ask('write', { path })).toMatch(/^refused: E/);
    expect(await ask('write', { path: join(open, 'x') })).toBe('done: undefined');
    expect(readFileSync(join(open, 'x'), 'utf8')).toBe('was here');
    const own = '/tmp/bascule-of-the-prisoner';
    expect(await ask('write', { path: own })).toBe('done: undefined');
    expect(existsSync(own)).toBe(false);
  });

  it('is a user without rights, in the sandbox and outside', async () => {
    const { ask, shown } = await prison();
    expect(await ask('whoami')).toBe('65534 CapEff:\t0000000000000000');
    const users = prisoners(shown).map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8'));
    const ours = users.filter((status) => !/^Uid:\t0\t/m.test(status));
    // The one without a sandbox belongs to us.
    expect(ours.length).toBeGreaterThan(0);
  });

  it('ends with a gateway that is killed', async () => {
    const { ask, shown, served } = await prison();
    expect(await ask('nothing')).toBe('done');
    expect(prisoners(shown).length).toBeGreaterThan(0);
    served.program.kill('SIGKILL');
    await served.program.end();
    const isHeld = (pid: number) => {
      try {
        return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes('/bascule-');
      } catch {
        return false;
      }
    };
    await until(() => !prisoners(shown).some(isHeld), 'all are gone');
  });
});

/** The limit that holds a process, as the kernel has it. */
function limitOf(shown: string, controller: string, files: readonly string[]): string | undefined {
  for (const pid of prisoners(shown)) {
    const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
    const line = lines.find((one) => one.includes('/bascule-') && [controller, ''].includes(one.split(':')[1] ?? ''));
    const path = line?.split(':')[2];
    if (path === undefined) continue;
    const roots = [`/sys/fs/cgroup/${controller}`, '/sys/fs/cgroup', '/sys/fs/cgroup/unified'];
    const file = roots.flatMap((root) => files.map((name) => join(root, path, name))).find((name) => existsSync(name));
    if (file !== undefined) return readFileSync(file, 'utf8').trim();
  }
  return undefined;
}

describe('limits of a sandbox', verifies('gateway:sandbox:limits'), () => {
  it('end what starts too many processes: it is named, and others go on', async () => {
    const { attempt, ask, served, shown } = await prison();
    expect(await ask('nothing')).toBe('done');
    // Nothing is tried before the limit is seen in force.
    expect(limitOf(shown, 'pids', ['pids.max'])).toBe(String(PROCESSES));
    const bombing = attempt('bomb');
    expect((await attempt('nothing', {}, 'free')).result.content[0].text).toBe('done');
    const { error } = await bombing;
    const why = `it started more processes than its sandbox allows (${PROCESSES})`;
    expect(error.message).toContain(why);
    await until(() => served.program.stderr.includes(why), `the log names it: ${served.program.obituary}`);
    await until(() => prisoners('/bin/sleep 60').length === 0, 'everything that it started is gone');
    expect((await attempt('nothing', {}, 'free')).result.content[0].text).toBe('done');
    await expect.poll(() => ask('nothing').catch(() => ''), { timeout: 20_000 }).toBe('done');
  });

  it('end what takes too much memory: it is named, and others go on', async () => {
    const { attempt, ask, served, shown } = await prison();
    expect(await ask('nothing')).toBe('done');
    const files = ['memory.max', 'memory.limit_in_bytes'];
    expect(limitOf(shown, 'memory', files)).toBe(String(128 * 1024 ** 2));
    const hogging = attempt('hog');
    expect((await attempt('nothing', {}, 'free')).result.content[0].text).toBe('done');
    const { error } = await hogging;
    const why = 'it used more memory than its sandbox allows (128 MiB)';
    expect(error.message).toContain(why);
    await until(() => served.program.stderr.includes(why), `the log names it: ${served.program.obituary}`);
    await expect.poll(() => ask('nothing').catch(() => ''), { timeout: 20_000 }).toBe('done');
  });

  it('leave no control group behind', async () => {
    const { ask, served, shown } = await prison();
    expect(await ask('nothing')).toBe('done');
    expect(limitOf(shown, 'pids', ['pids.max'])).toBeDefined();
    served.program.kill('SIGTERM');
    await served.program.end();
    const left = execFileSync('find', ['/sys/fs/cgroup', '-type', 'd', '-name', `bascule-${served.program.pid}-*`]);
    expect(left.toString()).toBe('');
  });
});

describe('a machine without bubblewrap', verifies('gateway:sandbox:refused'), () => {
  it('starts no backend that wants a sandbox, and says so', async () => {
    const { shown, home, program } = files();
    const bin = folder('bin');
    chmodSync(bin, 0o755);
    for (const name of ['sh', 'node']) symlinkSync(name === 'node' ? process.execPath : '/bin/sh', join(bin, name));
    const sandbox = { read: [shown] };
    const config = {
      backends: { held: { command: process.execPath, args: [program], sandbox } },
      store: { dir: 'state' },
    };
    writeFileSync(join(home, 'bascule.yaml'), JSON.stringify(config));
    const env = { PATH: bin, HOME: home };
    const checked = await run(['config', 'check', 'bascule.yaml'], { folder: home, env });
    expect(`${checked.stdout}${checked.stderr}`).toContain('bubblewrap is not installed');
    const served = await serve([], { folder: home, env });
    await served.program.says(/^ {2}held {2}down: .*this machine cannot make its sandbox/m);
    await until(() => served.program.stderr.includes('bubblewrap is not installed'), served.program.stderr);
    expect(prisoners(shown)).toEqual([]);
  });
});
