/** A reader of stderr that stalls or goes away: log lines are dropped and counted, and the gateway serves. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, notification, request, result, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';
import { configFile, StdioClient, serve } from '../harness/program.ts';
import { legacyProcess, modernProcess, type StdioTurn } from '../harness/stdio-backend.ts';

const LINES = 4_000;
/** 4 MB for each call: a pipe holds 64 KiB, the queue of the log 1 MiB. */
const complaint = `${'x'.repeat(1_000)}\n`.repeat(LINES);

const complains = (turn: StdioTurn) => {
  turn.process.complain(complaint);
  turn.result({ resultType: 'complete', ...text('done') });
};

const script = {
  'tools/call': complains,
  'tools/list': (turn: StdioTurn) => turn.result({ resultType: 'complete', tools: [] }),
};

const configOf = ({ command, args }: { readonly command: string; readonly args: readonly string[] }) =>
  configFile({ backends: { b: { command, args } }, log: { level: 'debug' }, limits: { stderrBytes: '64MiB' } });

describe('stderr that is never read', verifies('gateway:log:stalled-reader'), () => {
  it.each(['/mcp', '/servers/b/mcp'])('does not stop health, calls or the end of `serve`: %s', async (path) => {
    const backend = await legacyProcess(script);
    const { program, origin } = await serve([], { ...configOf(backend), readsStderr: false });
    const client = await connectLegacy(`${origin}${path}`);
    for (const id of [1, 2, 3]) {
      expect((await client.post(call(id))).json()).toMatchObject({ id, result: text('done') });
      expect((await send(`${origin}/healthz`, { method: 'GET' })).status).toBe(200);
    }
    program.kill('SIGTERM');
    expect(await program.end()).toEqual({ code: 0, signal: null });
  });

  it('does not stop modern calls', async () => {
    const backend = await modernProcess(script);
    const { origin } = await serve([], { ...configOf(backend), readsStderr: false });
    for (const id of [1, 2, 3]) {
      const answer = await send(
        `${origin}/mcp`,
        modern({ id, method: 'tools/call', params: { name: 'work', arguments: {} } }),
      );
      expect(answer.json()).toMatchObject({ id, result: text('done') });
      expect((await send(`${origin}/healthz`, { method: 'GET' })).status).toBe(200);
    }
  });

  it('does not stop `bascule stdio`', async () => {
    const backend = await legacyProcess(script);
    const client = new StdioClient({ ...configOf(backend), readsStderr: false });
    await client.ask(initialize({}));
    client.say(notification('notifications/initialized'));
    for (const id of [1, 2, 3]) {
      expect(await client.ask(request(id, 'tools/call', { name: 'work', arguments: {} }))).toEqual(
        result(id, { resultType: 'complete', ...text('done') }),
      );
    }
    client.program.endInput();
    expect(await client.program.end()).toEqual({ code: 0, signal: null });
  });

  it('gets one line that counts the lost ones, as soon as it is read', async () => {
    const backend = await legacyProcess(script);
    const { program, origin } = await serve([], { ...configOf(backend), readsStderr: false });
    const client = await connectLegacy(`${origin}/mcp`);
    await client.post(call(1));
    await client.post(call(2));
    await client.post(call(3));
    program.readStderr();
    await until(() => program.stderr.includes('log lines were dropped'), 'the loss is told');
    const entries = program.stderr
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    const told = entries.filter(({ msg }) => String(msg).includes('log lines were dropped'));
    const complaints = entries.filter(({ msg }) => String(msg).startsWith('xxx'));
    expect(complaints.length).toBeLessThan(3 * LINES);
    expect(told.length).toBeLessThan(5);
    expect(told[0].dropped).toBeGreaterThan(0);
    // What is logged afterwards is there again, and the last lines before the end.
    program.kill('SIGTERM');
    expect(await program.end()).toEqual({ code: 0, signal: null });
    expect(program.stderr.trimEnd().split('\n').at(-1)).toContain('stopped');
  });
});

describe('stderr that was closed', verifies('gateway:log:closed-reader'), () => {
  it('does not end `serve`, which serves calls and stops in order', async () => {
    const backend = await legacyProcess(script);
    const { program, origin } = await serve([], configOf(backend));
    await program.stopReadingStderr();
    const client = await connectLegacy(`${origin}/mcp`);
    for (const id of [1, 2]) {
      expect((await client.post(call(id))).json()).toMatchObject({ id, result: text('done') });
    }
    program.kill('SIGTERM');
    expect(await program.end()).toEqual({ code: 0, signal: null });
  });
});
