/** Policy as people use it: the commands, the file of records, and stdout that carries protocol alone. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { modern, modernMeta } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, run, StdioClient, serve, start } from '../harness/program.ts';
import { call } from './setup.ts';

const rules = [
  { id: 'read', effect: 'allow', what: ['call'], on: { tools: ['*read*'] } },
  { id: 'no-deletes', effect: 'deny', what: ['call'], on: { tools: ['*delete*'] } },
];
const backends = { files: { url: 'http://127.0.0.1:9/mcp' } };

describe('bascule policy', verifies('gateway:policy:commands'), () => {
  it('check explains the rules', async () => {
    const { exit, stdout } = await run(['policy', 'check'], configFile({ backends, policy: { rules } }));
    expect(exit.code).toBe(0);
    expect(stdout).toContain('no-deletes: everybody must not call, tools *delete*.');
  });

  it('check rejects an invalid policy, and names the place', async () => {
    const { exit, stderr } = await run(['policy', 'check'], configFile({ backends, policy: { mode: 'off', rules } }));
    expect(exit.code).toBe(1);
    expect(stderr).toContain('enforce or audit');
  });

  it.each([
    { name: 'cases that come out', expect: 'deny', code: 0, says: '1 of 1 cases as expected' },
    { name: 'cases that do not', expect: 'allow', code: 1, says: 'expected allow, got deny by no-deletes' },
  ])('test reports $name', async ({ expect: wanted, code, says }) => {
    const cases = { cases: [{ name: 'one', action: 'call', tool: 'delete_file', backend: 'files', expect: wanted }] };
    const { files } = configFile({ backends, policy: { rules } });
    const { exit, stdout } = await run(['policy', 'test', 'cases.yaml'], {
      files: { ...files, 'cases.yaml': JSON.stringify(cases) },
    });
    expect([exit.code, stdout]).toEqual([code, expect.stringContaining(says)]);
  });
});

describe('records', verifies('gateway:policy:audit'), () => {
  const script = {
    'tools/call': (turn: { result(value: object): void }) => turn.result({ resultType: 'complete', content: [] }),
  };

  it('are lines in the configured file, one per decision, with the rules that decided', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-audit-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const path = join(folder, 'audit.jsonl');
    const backend = await modernBackend(script);
    const audit = { to: path, arguments: { of: ['*'] } };
    const config = { backends: { files: { url: backend.url } }, policy: { rules }, audit };
    const { url } = await serve([], configFile(config));
    await send(url('files'), modern(call('read_file', { path: '/x', password: 'secret' })));
    await send(url('files'), modern(call('delete_file')));
    const lines = () => (existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []);
    await until(() => lines().length >= 2, 'both were recorded');
    expect(lines().map((line) => JSON.parse(line))).toMatchObject([
      { decision: 'allow', rules: ['read'], outcome: 'result', arguments: { path: '/x', password: '***' } },
      { decision: 'deny', rules: ['no-deletes'], outcome: 'denied' },
    ]);
  });

  it('never stand on the stdout of bascule stdio', async () => {
    const backend = await modernBackend(script);
    const config = { backends: { files: { url: backend.url } }, policy: { rules }, audit: { to: 'stdout' } };
    const program = start(['stdio'], configFile(config));
    const message = call('files__delete_file');
    program.write(`${JSON.stringify({ ...message, params: { ...message.params, _meta: modernMeta() } })}\n`);
    await program.says(/policy_denied/);
    await until(() => program.stderr.includes('"decision":"deny"'), 'it was recorded');
    program.endInput();
    await program.end();
    for (const line of program.stdout.trim().split('\n')) expect(JSON.parse(line).jsonrpc).toBe('2.0');
  });

  describe('and a log whose reader disconnected', () => {
    const told = { audit: { to: 'stderr' }, log: { level: 'debug' } };

    it('end no gateway', async () => {
      const backend = await modernBackend(script);
      const config = { backends: { files: { url: backend.url } }, policy: { rules }, ...told };
      const { program, url } = await serve([], configFile(config));
      await program.stopReadingStderr();
      expect((await send(url('files'), modern(call('delete_file')))).json().error.data.reason).toBe('policy_denied');
      // What was recorded is written by then, and found no reader.
      program.kill('SIGTERM');
      expect(await program.end()).toEqual({ code: 0, signal: null });
    });

    it('end no bascule stdio', async () => {
      const backend = await modernBackend(script);
      const config = { backends: { files: { url: backend.url } }, policy: { rules }, ...told };
      const client = new StdioClient(configFile(config));
      const asks = (id: number) => {
        const message = call('files__delete_file');
        return client.ask({ ...message, id, params: { ...message.params, _meta: modernMeta() } });
      };
      expect((await asks(1)).error.data.reason).toBe('policy_denied');
      await client.program.stopReadingStderr();
      expect((await asks(2)).error.data.reason).toBe('policy_denied');
      client.program.endInput();
      expect(await client.program.end()).toEqual({ code: 0, signal: null });
    });
  });
});
