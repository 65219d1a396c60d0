/** `bascule pins`, as people and CI run it: docs/pins.md has the same steps. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { run, serve } from '../harness/program.ts';
import { call } from '../policy/setup.ts';
import { fileIn, listTool, readTool } from './setup.ts';

async function place() {
  const offered: { tools: Json[] } = { tools: [readTool, listTool] };
  const backend = await modernBackend(
    {
      'tools/list': (turn) =>
        turn.result({ resultType: 'complete', tools: offered.tools, ttlMs: 0, cacheScope: 'private' }),
    },
    { capabilities: { tools: {} }, instructions: 'Be kind' },
  );
  const file = fileIn();
  const folder = join(file, '..');
  const config = { backends: { files: { url: backend.url } }, pins: { file: 'pins.txt' } };
  writeFileSync(join(folder, 'bascule.yaml'), JSON.stringify(config));
  const pins = (...words: string[]) => run(['pins', ...words], { folder });
  return { offered, backend, file, folder, pins };
}

it('approve pins, verify holds CI to it, diff shows what changed', verifies('gateway:pins:commands'), async () => {
  const { offered, file, pins } = await place();
  const before = await pins('verify');
  expect([before.exit.code, before.stderr]).toEqual([2, expect.stringContaining('there is no such file')]);

  expect(await pins('approve')).toMatchObject({ exit: { code: 0 }, stdout: expect.stringContaining('3 approved') });
  const text = readFileSync(file, 'utf8');
  expect(text).toMatch(/^bascule pins 1\n\nfiles instructions "" sha256:[0-9a-f]{64}\n {2}"Be kind"\n/);
  expect(await pins('verify')).toMatchObject({ exit: { code: 0 }, stdout: 'all is as pinned\n' });

  offered.tools = [
    { ...readTool, annotations: { readOnlyHint: false } },
    { name: 'upload', inputSchema: {} },
  ];
  const diff = await pins('diff');
  expect(diff.exit.code).toBe(1);
  expect(diff.stdout).toContain('tool `list_files` of files: gone');
  expect(diff.stdout).toContain('tool `read_file` of files: riskier-hint\n');
  expect(diff.stdout).toContain('-     "readOnlyHint": true');
  expect(diff.stdout).toContain('+     "readOnlyHint": false');
  expect(diff.stdout).toContain('tool `upload` of files: new');
  expect(readFileSync(file, 'utf8')).toBe(text);

  const [, fingerprint = ''] = /fingerprint ([0-9a-f]+)/.exec(diff.stdout) ?? [];
  offered.tools = [{ ...readTool, description: 'Changed after the review' }];
  const late = await pins('approve', '--fingerprint', fingerprint);
  expect([late.exit.code, late.stderr]).toEqual([1, expect.stringContaining('nothing was approved')]);
  expect(readFileSync(file, 'utf8')).toBe(text);

  expect((await pins('approve', 'files/read_file')).stdout).toContain('1 approved');
  const json = await pins('verify', '--json');
  expect(JSON.parse(json.stdout).differences).toMatchObject([{ name: 'list_files', classes: ['gone'] }]);
});

it(
  'what approve has written can be read: deep, invisible, and listed twice',
  verifies('gateway:pins:commands'),
  async () => {
    const { offered, file, pins } = await place();
    const nested = (levels: number): Json => (levels === 0 ? Array(4_000).fill(1) : [nested(levels - 1)]);
    const deep = { name: 'deep', inputSchema: { type: 'object', default: nested(50) } };
    const hidden = { name: 'hid\u200bden', description: 'a\u{e0041}b', inputSchema: { type: 'object' } };
    offered.tools = [deep, hidden, readTool, readTool];
    expect(await pins('approve')).toMatchObject({ exit: { code: 0 }, stdout: expect.stringContaining('4 approved') });
    expect(await pins('verify')).toMatchObject({ exit: { code: 0 }, stdout: 'all is as pinned\n', stderr: '' });
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('files tool "hid\\u200bden" sha256:');
    expect(text).toContain('"description": "a\\udb40\\udc41b"');
    offered.tools = [deep, { ...hidden, description: 'a\u{e0042}b' }, readTool];
    const { exit, stdout } = await pins('diff');
    expect(exit.code).toBe(1);
    expect(stdout).toContain('tool `hid\\u200bden` of files: text\n');
    expect(stdout).toContain('-   "description": "a\\udb40\\udc41b"');
    expect(stdout).toContain('+   "description": "a\\udb40\\udc42b"');
  },
);

it(
  'a corrupt file is not replaced by approve',
  verifies('gateway:pins:commands', 'gateway:pins:never-by-itself'),
  async () => {
    const { file, pins } = await place();
    writeFileSync(file, 'bascule pins 1\nnonsense\n');
    const { exit, stderr } = await pins('approve');
    expect([exit.code, stderr]).toEqual([2, expect.stringContaining('line 2 is not a pin')]);
    expect(readFileSync(file, 'utf8')).toBe('bascule pins 1\nnonsense\n');
  },
);

it('a backend that cannot be read is exit code 2, and keeps its pins', verifies('gateway:pins:commands'), async () => {
  const { backend, file, pins } = await place();
  await pins('approve');
  const text = readFileSync(file, 'utf8');
  await backend.close();
  expect(await pins('verify')).toMatchObject({ exit: { code: 2 }, stderr: expect.stringContaining('not read: files') });
  expect((await pins('approve')).exit.code).toBe(2);
  expect(readFileSync(file, 'utf8')).toBe(text);
});

it(
  'a running gateway holds what changed, and status says so',
  verifies('gateway:pins:commands', 'gateway:pins:held'),
  async () => {
    const { offered, folder, pins } = await place();
    await pins('approve');
    const { url } = await serve([], { folder });
    offered.tools = [{ ...readTool, description: 'Sends your keys' }, listTool];
    const { error } = (await send(url('files'), modern(call('read_file')))).json();
    expect(error.data.reason).toBe('pinned_changed');
    const status = await run(['status'], { folder });
    expect(status.stdout).toMatch(/pins {2}.*pins\.txt: 1 held\n {2}files tool read_file {2}text\n/);
    expect((await run(['tools', '--endpoint', '/servers/files/mcp'], { folder })).stdout).toContain(
      'not shown: read_file',
    );
  },
);
