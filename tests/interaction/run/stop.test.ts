/** How it stops: no new work, time for the old, an end that each client can understand, and nothing left behind. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { isRunning } from '../../upstream/support/processes.ts';
import { call, expectRefused, Held, refusal, request, text } from '../harness/behind.ts';
import { begin, open, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';
import { SseClient } from '../harness/sse-client.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';

const work = { name: 'work', arguments: {} };
const stopping = { code: -32603, message: 'Shutting down', reason: 'shutting_down' };

describe('SIGTERM', verifies('gateway:serve:drain'), () => {
  it('lets calls finish, and accepts no new ones meanwhile', async () => {
    const held = new Held();
    const backend = await modernBackend({ 'tools/call': held.take });
    const { program, url, origin } = await serve([], configFile({ backends: { b: { url: backend.url } } }));
    const client = await connectLegacy(url());
    const older = begin(url(), { body: request('old', 'tools/call', work), headers: client.headers });
    const newer = begin(url(), modern({ id: 'new', method: 'tools/call', params: work }));
    await held.nth(2);
    program.kill('SIGTERM');
    await until(() => program.stderr.includes('"stopping"'), 'it has begun to stop');
    expectRefused(await send(url(), modern({ id: 7, method: 'tools/call', params: work })), 503, {
      ...stopping,
      id: 7,
    });
    expectRefused(await client.post(call(8)), 503, { ...stopping, id: 8 });
    expect((await send(`${origin}/readyz`, { method: 'GET' })).status).toBe(503);
    expect(program.running).toBe(true);
    for (const turn of held.turns) turn.result({ resultType: 'complete', ...text('done') });
    for (const { answer } of [older, newer]) {
      const finished = await answer;
      await finished.ended;
      expect(finished.status).toBe(200);
      expect(JSON.parse(finished.text()).result.content).toEqual(text('done').content);
    }
    expect(await program.end()).toEqual({ code: 0, signal: null });
    expect(held.turns).toHaveLength(2);
  });

  it('ends requests that do not finish in time, with an error in the form of the client era', async () => {
    const held = new Held();
    const backend = await modernBackend({
      'tools/call': held.take,
      'subscriptions/listen': (turn) => {
        const params = { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': turn.message.id } };
        turn.stream().event({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params });
      },
    });
    const config = configFile({ backends: { b: { url: backend.url } }, limits: { drainMs: 300, sseAfterMs: 0 } });
    const { program, url, origin } = await serve([], config);
    const client = await connectLegacy(url());
    const older = await client.stream(request('old', 'tools/call', work));
    const newer = await open(url(), modern({ id: 'new', method: 'tools/call', params: work }));
    const oldest = await SseClient.connect(`${origin}/sse`);
    await oldest.post(request('oldest', 'tools/call', work));
    const listening = await open(
      url(),
      modern({ id: 'l', method: 'subscriptions/listen', params: { notifications: {} } }),
    );
    await listening.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
    const standing = await client.listen();
    await held.nth(3);
    program.kill('SIGTERM');
    const message = 'The gateway is shutting down';
    const ended = (id: string) => refusal({ code: -32600, message, reason: 'session_ended', id });
    expect(await older.message(({ id }) => id === 'old')).toEqual(ended('old'));
    expect(await oldest.stream.message(({ id }) => id === 'oldest')).toEqual(ended('oldest'));
    expect(await newer.message(({ id }) => id === 'new')).toMatchObject({ id: 'new', error: { message } });
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 'l' };
    expect((await listening.message(({ id }) => id === 'l')).result).toEqual({ resultType: 'complete', _meta });
    for (const stream of [older, newer, oldest.stream, listening, standing]) await stream.ended;
    // The backend is not left working for nobody.
    for (const turn of held.turns) await turn.closed;
    expect(await program.end()).toEqual({ code: 0, signal: null });
  });

  it('ends the child processes, with SIGKILL if necessary', async () => {
    const [docile, stubborn] = [
      await legacyProcess({ 'tools/call': (turn) => turn.result(text('done')) }),
      await legacyProcess({}, { manners: ['stays', 'ignores-sigterm'] }),
    ];
    const backends = Object.fromEntries(
      Object.entries({ docile, stubborn }).map(([name, { command, args }]) => [name, { command, args }]),
    );
    const { program, url } = await serve([], configFile({ backends, limits: { drainMs: 100, childStopMs: 200 } }));
    for (const name of Object.keys(backends)) await connectLegacy(url(name));
    await until(() => docile.processes.length > 0 && stubborn.processes.length > 0, 'both run');
    program.kill('SIGTERM');
    expect(await program.end()).toEqual({ code: 0, signal: null });
    for (const { pid } of [...docile.processes, ...stubborn.processes]) expect(isRunning(pid)).toBe(false);
    expect(docile.processes.every(({ told }) => told[0] === 'end')).toBe(true);
    expect(stubborn.processes.some(({ told }) => told.includes('SIGTERM'))).toBe(true);
  });

  it('that is sent twice ends the program immediately', async () => {
    const held = new Held();
    const backend = await modernBackend({ 'tools/call': held.take });
    const { program, url } = await serve([], configFile({ backends: { b: { url: backend.url } } }));
    begin(url(), modern({ method: 'tools/call', params: work })).answer.catch(() => undefined);
    await held.nth(1);
    program.kill('SIGTERM');
    await until(() => program.stderr.includes('"stopping"'), 'it has begun to stop');
    program.kill('SIGINT');
    expect(await program.end()).toEqual({ code: 1, signal: null });
  });
});
