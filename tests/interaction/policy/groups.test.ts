/** Groups of access keys and of users of the bundled server: rules match them as they match groups of tokens. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Setting } from '../authserver/setting.ts';
import { send } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { configFile, run } from '../harness/program.ts';
import { call, openHouse, paths } from './setup.ts';

const rules = [
  { id: 'staff', effect: 'allow', who: { groups: ['staff'] }, what: ['call'] },
  { id: 'readers', effect: 'allow', when: "'readers' in principal.groups && name == 'read_file'", what: ['call'] },
];

it('the groups of a key decide, in `who` and in `when`', verifies('gateway:policy:groups'), async () => {
  const ring = keyRing();
  const keys = {
    staff: ring.make('ann', { groups: ['staff', 'blue'] }),
    reader: ring.make('bob', { groups: ['readers'] }),
    none: ring.make('staff'),
  };
  const house = await openHouse({ more: { policy: { rules }, identity: { keys: { file: ring.path } } } });
  const url = `${house.gateway.origin}${paths.single}`;
  const may = async (key: string, tool: string) => {
    const request = modern(call(tool));
    const headers = { ...request.headers, authorization: `Bearer ${key}` };
    return (await send(url, { ...request, headers })).json().result !== undefined;
  };
  expect(await may(keys.staff, 'delete_file')).toBe(true);
  expect(await may(keys.reader, 'read_file')).toBe(true);
  expect(await may(keys.reader, 'delete_file')).toBe(false);
  expect(await may(keys.none, 'read_file')).toBe(false);
});

it.each([
  { name: 'a user of the group', groups: ['staff'], mayCall: true },
  { name: 'a user without groups', groups: [], mayCall: false },
])(
  '$name signs in at the bundled server: calls are allowed: $mayCall',
  verifies('gateway:policy:groups'),
  async (row) => {
    const setting = await Setting.launch({ groups: row.groups, more: { policy: { rules } } });
    const { access } = await setting.tokens();
    const request = modern(call('no_such_tool'));
    const headers = { ...request.headers, authorization: `Bearer ${access}` };
    const answer = await send(`${setting.origin}/mcp`, { ...request, headers });
    expect(answer.json().error?.data?.reason === 'policy_denied').toBe(!row.mayCall);
  },
);

describe('the commands', verifies('gateway:policy:groups'), () => {
  function folder(): string {
    const path = mkdtempSync(join(tmpdir(), 'bascule-groups-'));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    return path;
  }

  it('key new gives groups, key groups replaces them, key list shows them', async () => {
    const at = folder();
    const key = (...words: string[]) => run(['key', ...words, '--file', 'keys.json'], { folder: at });
    await key('new', 'ann', '--group', 'staff', 'blue');
    expect((await key('list')).stdout).toContain('groups: staff blue');
    expect((await key('groups', 'ann', 'green')).exit.code).toBe(0);
    expect((await key('list')).stdout).toContain('groups: green');
    await key('groups', 'ann');
    expect(readFileSync(join(at, 'keys.json'), 'utf8')).not.toContain('groups');
    const wrong = await key('new', 'bob', '--group', 'all *');
    expect([wrong.exit.code, wrong.stderr]).toEqual([1, expect.stringContaining('cannot be a group')]);
    expect((await key('groups', 'nobody', 'x')).exit.code).toBe(1);
  });

  it('policy check warns of groups and keys that nobody has', async () => {
    const at = folder();
    await run(['key', 'new', 'ann', '--group', 'staff', '--file', 'keys.json'], { folder: at });
    const config = {
      backends: { files: { url: 'http://127.0.0.1:9/mcp' } },
      identity: { keys: { file: join(at, 'keys.json') } },
      policy: {
        rules: [
          { id: 'known', effect: 'allow', who: { groups: ['sta*'] } },
          { id: 'misspelt', effect: 'allow', who: { groups: ['staf'] } },
          { id: 'unknown-key', effect: 'allow', who: { keys: ['bob'] } },
        ],
      },
    };
    const { stdout } = await run(['policy', 'check'], configFile(config));
    expect(stdout).toContain('warning: misspelt can never match: no key and no user has the group `staf`');
    expect(stdout).toContain('warning: unknown-key can never match: no key has the name `bob`');
    expect(stdout).not.toContain('warning: known');
  });
});
