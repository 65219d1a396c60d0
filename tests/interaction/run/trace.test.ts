/** `--trace`: what passes on both sides, for a person who looks for the fault. */
import { describe, expect, it } from 'vitest';
import { createWireTrace } from '../../../src/observe/wire-trace.ts';
import { verifies } from '../../requirements/verifies.ts';
import { request, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { configFile, StdioClient, serve } from '../harness/program.ts';

const called: Script = { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('called') }) };
const calling = modern({ id: 7, method: 'tools/call', params: { name: 'work', arguments: { city: 'Ulm' } } });
const time = String.raw`^\d\d:\d\d:\d\d\.\d{3}`;

describe('`serve --trace`', verifies('gateway:serve:trace'), () => {
  it('prints a call on its four ways, with its arguments and without credentials', async () => {
    const backend = await modernBackend(called);
    const ring = keyRing();
    const key = ring.make('ada');
    const config = {
      backends: { b: { url: backend.url, headers: { Authorization: 'Bearer upstream-s3cret' } } },
      identity: { publicUrl: 'https://gateway.example', keys: { file: ring.path } },
    };
    const { program, url } = await serve(['--trace'], configFile(config));
    const headers = { ...calling.headers, authorization: `Bearer ${key}`, cookie: 'session=s3cret' };
    expect((await send(url(), { ...calling, headers })).status).toBe(200);
    const lines = [
      String.raw`${time} client 127\.0\.0\.1 -> gateway {2}\{.*"city":"Ulm".*\} {2}\[mcp-protocol-version: 2026-07-28, .*authorization: \*\*\*, cookie: \*\*\*\]$`,
      String.raw`${time} gateway -> backend b {2}\{.*"tools/call".*"city":"Ulm".*\}`,
      String.raw`${time} backend b -> gateway {2}\{.*"called".*\}$`,
      String.raw`${time} gateway -> client 127\.0\.0\.1 {2}\{.*"id":7.*\}$`,
    ];
    for (const line of lines) await until(() => new RegExp(line, 'm').test(program.stderr), line);
    expect(program.stderr).not.toContain('s3cret');
    expect(program.stderr).not.toContain(key);
    await send(url(), calling);
    await until(() => / gateway -> client 127\.0\.0\.1 {2}\(401 \S+: /.test(program.stderr), 'the refusal is shown');
  });

  it('prints legacy sessions, their streams and their ends', async () => {
    const backend = await legacyBackend({ 'tools/call': (turn) => turn.result(text('called')) });
    const { program, url } = await serve(['--trace'], configFile({ backends: { old: { url: backend.url } } }));
    const client = await connectLegacy(url());
    await client.post(request(3, 'tools/call', { name: 'work' }));
    await send(client.url, { method: 'DELETE', headers: client.headers });
    await until(() => program.stderr.includes('(DELETE, of a session)'), 'the end of the session is shown');
    for (const shown of ['"method":"initialize"', '(202)', '"called"', 'mcp-session-id: ***'])
      expect(program.stderr).toContain(shown);
    expect(program.stderr).not.toContain(client.headers['mcp-session-id']);
  });
});

describe('`stdio --trace`', verifies('gateway:serve:trace'), () => {
  it('prints both sides on stderr, and leaves stdout to the protocol', async () => {
    const backend = await modernBackend(called);
    const client = new StdioClient(configFile({ backends: { b: { url: backend.url } } }), ['--trace']);
    await client.ask(calling.body);
    const { program } = client;
    await until(() => / gateway -> client stdio {2}\{.*"id":7/.test(program.stderr), 'the answer is shown');
    expect(program.stderr).toMatch(/ client stdio -> gateway {2}\{.*"city":"Ulm"/);
    expect(client.heard).toHaveLength(1);
  });
});

describe('without `--trace`', verifies('gateway:serve:trace'), () => {
  it('prints no message', async () => {
    const backend = await modernBackend(called);
    const { program, url } = await serve([], configFile({ backends: { b: { url: backend.url } } }));
    await send(url(), calling);
    expect(program.stderr).not.toContain('Ulm');
  });
});

describe('a traced line', verifies('gateway:serve:trace'), () => {
  const shown = (body: string) => {
    const written: string[] = [];
    const stream = {
      write: (line: Uint8Array, done: () => void) => {
        written.push(String(line));
        done();
      },
      on: () => undefined,
    };
    const trace = createWireTrace(stream, () => new Date(0));
    trace.show('in', { side: 'backend', name: 'b' }, Buffer.from(body));
    return written;
  };

  it('is one line, whatever the message contains', () => {
    expect(shown('{\n  "a": "\u001b[31m\u2028"\r\n}')).toEqual([
      '00:00:00.000 backend b -> gateway  {   "a": "\ufffd[31m\ufffd" }\n',
    ]);
  });

  it('is cut off where the message is long, and says how long it is', () => {
    const [line = ''] = shown('x'.repeat(100_000));
    expect(line.length).toBeLessThan(4_300);
    expect(line).toMatch(/x\.\.\. \(100000 bytes\)\n$/);
  });
});
