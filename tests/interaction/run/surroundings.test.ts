/**
 * What the program needs of the machine it runs on: who may write its files, where its state goes, what commands exist.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { configFile, type Program, run, serve } from '../harness/program.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const posix = process.platform !== 'win32';
const isRoot = process.getuid?.() === 0;

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'bascule-surroundings-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

function fileWith(text: string, mode: number): string {
  const file = join(folder(), 'file');
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

const warnings = ({ stdout }: Program) => stdout.split('\n').filter((line) => line.startsWith('warning: '));

describe.runIf(posix)('a file that every user may write', verifies('gateway:config:file-rights'), () => {
  it.each([['config check'], ['serve'], ['stdio']])('is refused as a config by `%s`', async (command) => {
    const file = fileWith('backends: {}', 0o666);
    const { exit, stderr } = await run([...command.split(' '), file]);
    expect(exit.code).toBe(1);
    expect(stderr).toContain('writable by every user: remove that permission with chmod o-w');
  });

  it('is refused as a secret that the config includes', async () => {
    const secret = fileWith('a-secret', 0o666);
    const config = { backends: { b: { url: 'http://127.0.0.1:1/mcp', headers: { 'X-Key': `\${file:${secret}}` } } } };
    const { exit, stderr } = await run(['config', 'check'], configFile(config));
    expect(exit.code).toBe(1);
    expect(stderr).toContain('writable by every user');
    expect(stderr).not.toContain('a-secret');
  });

  it('authenticates no one as a key file, and is named in the log', async () => {
    const file = join(folder(), 'keys.json');
    const key = (await run(['key', 'new', 'ann', '--file', file])).stdout.trim();
    chmodSync(file, 0o666);
    const config = { identity: { keys: { file } }, backends: { b: { url: 'http://127.0.0.1:1/mcp' } } };
    const { program, url } = await serve([], configFile(config));
    const answer = await send(
      url(),
      modern({ method: 'server/discover', headers: { authorization: `Bearer ${key}` } }),
    );
    expect(answer.status).toBe(401);
    await expect.poll(() => program.stderr).toContain('writable by every user');
    const checked = await run(['config', 'check'], configFile(config));
    expect(warnings(checked)).toEqual([expect.stringContaining(`key file ${file}: it is writable by every user`)]);
  });
});

describe('`config check` on this machine', verifies('gateway:config:surroundings'), () => {
  const check = async (config: unknown) => {
    const checked = await run(['config', 'check'], configFile(config));
    expect(checked.exit.code).toBe(0);
    return warnings(checked);
  };

  it('warns of an audit file that cannot be written, and of rules about callers who cannot authenticate', async () => {
    const [dir, file] = [folder(), join(folder(), 'missing', 'audit.jsonl')];
    const backends = { b: { url: 'http://127.0.0.1:1/mcp' } };
    const rules = [
      { id: 'staff', effect: 'allow', who: { groups: ['staff'] } },
      { id: 'ci', effect: 'deny', who: { keys: ['ci'] } },
    ];
    expect(await check({ backends, audit: { to: dir } })).toEqual([expect.stringContaining(`${dir} is a directory`)]);
    expect(await check({ backends, audit: { to: file }, policy: { rules } })).toEqual([
      expect.stringContaining('there is no directory'),
      expect.stringContaining('rule `staff` can never match: `who.groups` is about keys and tokens'),
      expect.stringContaining('rule `ci` can never match: it is about keys'),
    ]);
  });

  it('warns of a command that is not on the PATH, and of a command line in `command`', async () => {
    const found = await check({
      backends: {
        missing: { command: 'no-such-command' },
        line: { command: 'npx -y some-server' },
        absolute: { command: '/nonexistent/server' },
        closed: { command: fileWith('#!/bin/sh\n', 0o644) },
        lost: { command: 'node', cwd: '/nonexistent' },
        right: { command: 'node', args: ['server.js'] },
      },
    });
    expect(found).toEqual([
      expect.stringMatching(/`missing`: the command no-such-command is not on the PATH/),
      expect.stringMatching(/`line`: .*write `command: npx` and put the rest into `args`/),
      expect.stringMatching(/`absolute`: there is no program \/nonexistent\/server/),
      expect.stringMatching(/`closed`: .* is not executable: .*chmod \+x/),
      expect.stringMatching(/`lost`: `cwd` \/nonexistent is not a directory/),
    ]);
  });

  it('warns of a key file that is missing or broken', async () => {
    const config = (file: string) => ({ identity: { keys: { file } }, backends: { b: { command: 'node' } } });
    expect(await check(config('/nonexistent/keys.json'))).toEqual([expect.stringContaining('bascule key new <name>')]);
    expect(await check(config(fileWith('{', 0o600)))).toEqual([expect.stringContaining('it is not JSON')]);
    expect(await check(config(fileWith('{"version":1}', 0o600)))).toEqual([expect.stringContaining('`salt`')]);
  });

  it('warns of a store that cannot be made', async () => {
    const config = {
      identity: {
        publicUrl: 'http://127.0.0.1:8808',
        authServer: { users: fileWith('{"version":1,"users":[]}', 0o600) },
      },
      store: { dir: '/dev/null/state' },
      backends: { b: { command: 'node' } },
    };
    expect(await check(config)).toEqual([
      expect.stringContaining('`store.dir` /dev/null/state: /dev/null is not a directory'),
    ]);
  });

  it.runIf(posix)('warns of a user that does not exist', async () => {
    const found = await check({ backends: { b: { command: 'node', user: 'no-such-user' } } });
    expect(found).toEqual([expect.stringContaining('this machine has no user no-such-user')]);
  });
});

describe.runIf(existsSync('/proc/self'))(
  'a `store.dir` that cannot be made',
  verifies('gateway:store:named-errors'),
  () => {
    it.each(['/proc/nowhere/state', '/proc/self/fd/999/state', '/dev/null/state'])(
      '%s fails the start by name',
      async (dir) => {
        const users = join(folder(), 'users.json');
        const config = {
          identity: { publicUrl: 'http://127.0.0.1:8808', authServer: { users } },
          store: { dir },
          backends: { b: { command: 'node' } },
        };
        const { exit, stderr } = await run(['serve', '--port', '0'], configFile(config));
        expect(exit.signal).toBeNull();
        expect(exit.code).toBe(1);
        expect(stderr).toContain(`${dir} cannot be created`);
      },
    );
  },
);

// Only root may start a process as another user.
describe.runIf(posix && isRoot)('a backend with `user`', verifies('gateway:stdio:user'), () => {
  it('runs as that user, who cannot read the environment of the gateway', async () => {
    const backend = await modernProcess();
    const config = { backends: { b: { command: backend.command, args: backend.args, user: 'nobody' } } };
    const { program, url } = await serve([], { ...configFile(config), env: { SECRET: 'for the gateway alone' } });
    expect((await send(url('b'), modern({ method: 'server/discover' }))).status).toBe(200);
    const { process: started } = await backend.arrival('server/discover');
    const uid = Number(/^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${started.pid}/status`, 'utf8'))?.[1]);
    expect(uid).not.toBe(0);
    const reading = { uid, gid: uid, encoding: 'utf8' } as const;
    const { status, stdout } = spawnSync('cat', [`/proc/${program.pid}/environ`], reading);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  });
});
