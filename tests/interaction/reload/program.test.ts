/** The program itself: signals, and files that change. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { modern, modernMeta } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { type Program, StdioClient, serve } from '../harness/program.ts';
import { call } from '../policy/setup.ts';

interface Place {
  readonly path: string;
  write(config: object | string): void;
  /** As editors do: another file takes its place. */
  replace(config: object): void;
}

function place(config: object): Place {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-reload-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'bascule.yaml');
  const textOf = (value: object | string) => (typeof value === 'string' ? value : JSON.stringify(value));
  const write = (value: object | string) => writeFileSync(path, textOf(value));
  write(config);
  return {
    path,
    write,
    replace: (value) => {
      const beside = join(folder, '.bascule.yaml.swp');
      writeFileSync(beside, textOf(value));
      renameSync(beside, path);
    },
  };
}

async function scene() {
  const backend = await modernBackend({
    'tools/call': (turn) => turn.result({ resultType: 'complete', ...text(turn.message.params.name) }),
  });
  const configOf = (tool: string, more: object = {}) => ({
    backends: { b: { url: backend.url } },
    policy: { rules: [{ id: 'only', effect: 'allow', what: ['call'], on: { tools: [tool] } }] },
    ...more,
  });
  return { configOf };
}

const logged = (program: Program, words: string) =>
  until(() => program.stderr.includes(words), `it logs ${words}: ${program.obituary}`);

describe('bascule serve', verifies('gateway:reload:triggers'), () => {
  it.each(['write', 'replace'] as const)('sees that the file changed: %s', async (way) => {
    const { configOf } = await scene();
    const file = place(configOf('one'));
    const { program, url, origin } = await serve([file.path]);
    const asks = async (name: string): Promise<Json> => (await send(url('b'), modern(call(name)))).json();
    expect((await asks('two')).error.data.reason).toBe('policy_denied');
    file[way](configOf('two'));
    await logged(program, 'config reloaded, generation 2: policy changed');
    expect((await asks('two')).result).toBeDefined();
    expect((await asks('one')).error.data.reason).toBe('policy_denied');
    expect((await send(`${origin}/readyz`, { method: 'GET' })).json().generation).toBe(2);
  });

  it('reads it again on SIGHUP, also where it does not watch', async () => {
    const { configOf } = await scene();
    const file = place(configOf('one', { watch: false }));
    const { program, url } = await serve([file.path]);
    file.write(configOf('two', { watch: false }));
    program.kill('SIGHUP');
    await logged(program, 'config reloaded, generation 2: policy changed');
    expect((await send(url('b'), modern(call('two')))).json().result).toBeDefined();
  });

  it('keeps the old config if the new one is broken, and says where', verifies('gateway:reload:broken'), async () => {
    const { configOf } = await scene();
    const file = place(configOf('one'));
    const { program, url } = await serve([file.path]);
    file.write('backends:\n  b:\n    url: nowhere\n');
    await logged(program, 'config not reloaded, the old one stays in force');
    expect(program.stderr).toMatch(/bascule\.yaml:3:\d+: /);
    expect((await send(url('b'), modern(call('one')))).json().result).toBeDefined();
    file.write(configOf('two'));
    await logged(program, 'config reloaded, generation 2');
  });
});

it('bascule stdio continues with the new config', verifies('gateway:reload:triggers'), async () => {
  const { configOf } = await scene();
  const file = place(configOf('one'));
  const client = new StdioClient({}, [file.path]);
  const asks = (id: number, name: string) => {
    const message = call(name);
    return client.ask({ ...message, id, params: { ...message.params, _meta: modernMeta() } });
  };
  expect((await asks(1, 'two')).error.data.reason).toBe('policy_denied');
  file.replace(configOf('two'));
  await logged(client.program, 'config reloaded, generation 2');
  expect((await asks(2, 'two')).result).toBeDefined();
  client.program.endInput();
  await client.program.end();
});

it(
  'bascule stdio keeps the config if the next one has no backend for its client',
  verifies('gateway:reload:broken'),
  async () => {
    const { configOf } = await scene();
    const ledger = { protocol: 'json-rpc', url: 'http://127.0.0.1:9/' };
    const { backends, policy } = configOf('one');
    const mcp = { path: '/mcp', backends: ['b'] };
    const rpc = { path: '/rpc', protocol: 'json-rpc', backends: ['ledger'] };
    const config = (...endpoints: object[]) => ({ backends: { ...backends, ledger }, policy, endpoints });
    const file = place(config(mcp, rpc));
    const client = new StdioClient({}, [file.path]);
    const asks = (id: number) => {
      const message = call('one');
      return client.ask({ ...message, id, params: { ...message.params, _meta: modernMeta() } });
    };
    expect((await asks(1)).result).toBeDefined();
    file.replace(config({ ...rpc, path: '/mcp' }, { ...mcp, path: '/other' }));
    await logged(
      client.program,
      'config not reloaded, the old one stays in force: the client of this process uses the endpoint /mcp',
    );
    expect((await asks(2)).result).toBeDefined();
    client.program.endInput();
    await client.program.end();
  },
);
