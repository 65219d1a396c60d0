/** Yesterday's requests through tomorrow's policy. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { run } from '../harness/program.ts';
import { call, openHouse, paths } from './setup.ts';

const planted = ['hunter2-in-a-password', 'hunter2-in-a-note', 'hunter2-in-a-list', 'hunter2-in-a-token'];
const today = [
  { id: 'all', effect: 'allow', what: ['call'], with: { arguments: { path: { glob: ['/srv/**'] } } } },
  { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['delete_*'] } },
];

async function recorded(rules: readonly object[]) {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-rehearse-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ring = keyRing();
  const key = ring.make('ann', { groups: ['staff'] });
  const file = join(folder, 'rehearsal.jsonl');
  const more = { policy: { rules }, identity: { keys: { file: ring.path } }, rehearsal: { file } };
  const house = await openHouse({ more });
  const ask = async (tool: string, args: object) => {
    const request = modern(call(tool, args));
    const headers = { ...request.headers, authorization: `Bearer ${key}` };
    await send(`${house.gateway.origin}${paths.single}`, { ...request, headers });
  };
  const lines = () => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []);
  const rehearse = (next: readonly object[], ...flags: string[]) => rehearsePolicy({ rules: next }, ...flags);
  const rehearsePolicy = (policy: object, ...flags: string[]) => {
    const config = {
      backends: { a: { url: 'http://127.0.0.1:9/mcp' }, b: { url: 'http://127.0.0.1:9/mcp' } },
      endpoints: [{ path: paths.merged }, { path: paths.single, backends: ['a'] }],
      policy,
    };
    writeFileSync(join(folder, 'next.yaml'), JSON.stringify(config));
    return run(['policy', 'rehearse', 'next.yaml', '--recording', file, ...flags], { folder });
  };
  return { ask, key, lines, rehearse, rehearsePolicy, folder };
}

it('says who would be denied or allowed what, and by which rule', verifies('gateway:policy:rehearse'), async () => {
  const { ask, lines, rehearse } = await recorded(today);
  await ask('read_file', { path: '/srv/a' });
  await ask('read_file', { path: '/srv/b' });
  await ask('delete_file', { path: '/srv/a' });
  await until(() => lines().length === 3, 'three requests are recorded');

  expect(await rehearse(today)).toMatchObject({
    exit: { code: 0 },
    stdout: expect.stringContaining('all decided as before'),
  });

  const next = [
    { id: 'staff', effect: 'allow', who: { groups: ['staff'] }, what: ['call'] },
    { id: 'no-b', effect: 'deny', with: { arguments: { path: { equals: '/srv/b' } } } },
  ];
  const changed = await rehearse(next);
  expect(changed.exit.code).toBe(1);
  expect(changed.stdout).toContain('would be denied: key:ann, call read_file at /one/mcp (1 times), by no-b');
  expect(changed.stdout).toContain('would be allowed: key:ann, call delete_file at /one/mcp (1 times), by staff');
  const { requests, changes } = JSON.parse((await rehearse(next, '--json')).stdout);
  expect([requests, changes.length]).toEqual([3, 2]);

  const late = await rehearse(next, '--since', '1ms');
  expect([late.exit.code, late.stderr]).toEqual([2, expect.stringContaining('no request was recorded')]);
  expect((await rehearse(next, '--since', 'yesterday')).exit.code).toBe(2);
});

it(
  'says what would need an approval, and what no longer would',
  verifies('gateway:policy:rehearse', 'gateway:approval:config'),
  async () => {
    const ask = { id: 'ask', effect: 'approval', by: 'caller', what: ['call'], on: { tools: ['delete_*'] } };
    const all = { id: 'all', effect: 'allow' };
    const { ask: send, lines, rehearse } = await recorded([all, ask]);
    await send('read_file', {});
    await send('delete_file', {});
    await until(() => lines().length === 2, 'two requests are recorded');
    expect((await rehearse([all, ask])).exit.code).toBe(0);
    expect((await rehearse([all])).stdout).toContain('would be allowed: key:ann, call delete_file');
    const wider = await rehearse([all, { ...ask, on: { tools: ['*'] } }]);
    expect(wider.stdout).toContain(
      'would need an approval: key:ann, call read_file at /one/mcp (1 times), by all, ask',
    );
  },
);

it(
  'what was not recorded makes a decision unsure, and is not guessed',
  verifies('gateway:policy:rehearse'),
  async () => {
    const { ask, lines, rehearse } = await recorded(today);
    await ask('read_file', { path: '/srv/a', force: true });
    await until(() => lines().length === 1, 'the request is recorded');
    const next = [...today, { id: 'no-force', effect: 'deny', with: { arguments: { force: { equals: true } } } }];
    const { exit, stdout } = await rehearse(next);
    expect([exit.code, stdout]).toEqual([0, expect.stringContaining('cannot be rehearsed: key:ann, call read_file')]);
  },
);

it(
  'a config with Cedar policies is refused: what they read is not recorded',
  verifies('gateway:policy:rehearse'),
  async () => {
    const { ask, lines, rehearsePolicy, folder } = await recorded(today);
    await ask('read_file', { path: '/srv/a' });
    await until(() => lines().length === 1, 'a request is recorded');
    writeFileSync(join(folder, 'p.cedar'), 'forbid(principal, action, resource);');
    const { exit, stderr } = await rehearsePolicy({ rules: today, cedar: { policies: ['p.cedar'] } });
    expect([exit.code, stderr]).toEqual([2, expect.stringContaining('policy.cedar')]);
  },
);

it('no secret is in the recording', verifies('gateway:policy:rehearse'), async () => {
  const rules = [
    { id: 'all', effect: 'allow', what: ['call'] },
    { id: 'reads-much', effect: 'deny', when: "arguments.password == 'x' || arguments.list == ['x']", what: ['call'] },
    { id: 'reads-token', effect: 'deny', with: { arguments: { access_token: { equals: 'x' } } } },
  ];
  const { ask, key, lines } = await recorded(rules);
  const [password, note, item, token] = planted;
  await ask('read_file', { password, note, list: [item], access_token: token });
  await until(() => lines().length === 1, 'the request is recorded');
  const text = lines().join('\n');
  for (const secret of [...planted, key]) expect(text).not.toContain(secret);
  expect(JSON.parse(text)).toMatchObject({
    principal: { keyName: 'ann', groups: ['staff'] },
    arguments: {},
    without: ['password', 'note', 'list', 'access_token'],
  });
});

it('the recording is bounded and rotates', verifies('gateway:policy:rehearse'), async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-rehearse-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'r.jsonl');
  const house = await openHouse({ more: { rehearsal: { file, maxBytes: '4KiB', keep: 1 } } });
  for (let round = 0; round < 40; round++)
    await send(`${house.gateway.origin}${paths.single}`, modern(call('read_file')));
  await until(() => existsSync(`${file}.1`), 'the recording was rotated');
  expect(readFileSync(file).byteLength + readFileSync(`${file}.1`).byteLength).toBeLessThanOrEqual(8 * 1024);
  expect(existsSync(`${file}.2`)).toBe(false);
});
