/**
 * HTTP+SSE towards clients of 2024-11-05.
 * https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  call,
  echo,
  expectRefused,
  Held,
  notification,
  request,
  result,
  sessionNotFound,
  text,
} from '../harness/behind.ts';
import { open, send, until } from '../harness/client.ts';
import { initialize } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { everyCapability, legacyBackend, type Script, type ScriptedBackend } from '../harness/http-backend.ts';
import { SseClient } from '../harness/sse-client.ts';

async function place(script: Script): Promise<{ backend: ScriptedBackend; sse: string; messages: string }> {
  const backend = await legacyBackend(script);
  const gateway = await startGateway({ backends: { b: { url: backend.url } } });
  const at = `${gateway.origin}/servers/b`;
  return { backend, sse: `${at}/sse`, messages: `${at}/messages` };
}

describe('a client of 2024-11-05', verifies('transport:sse'), () => {
  it('works from the endpoint event to the end of its stream', async () => {
    const held = new Held();
    const { backend, sse } = await place({ 'tools/call': held.take });
    const client = await SseClient.open(sse);
    const introduction = initialize({ revision: '2024-11-05', capabilities: { roots: {} } });
    expect(await client.ask(introduction)).toEqual(
      result('init', {
        protocolVersion: '2024-11-05',
        capabilities: everyCapability,
        serverInfo: { name: 'legacy', version: '1' },
      }),
    );
    expect(await client.post(notification('notifications/initialized'))).toMatchObject({ status: 202 });
    const standing = await backend.standing();
    // Progress, a question and its answer, and what belongs to no call: all on the one stream.
    expect((await client.post(call(1, {}, { progressToken: 'p' }))).status).toBe(202);
    const turn = (await held.nth(1)).stream();
    const { progressToken } = turn.message.params._meta;
    turn
      .event(notification('notifications/progress', { progressToken, progress: 1 }))
      .event(request('q', 'roots/list'));
    const ask = await client.stream.message(({ method }) => method === 'roots/list');
    expect((await client.post(result(ask.id, { roots: [] }))).status).toBe(202);
    await until(() => backend.received.some(({ message }) => message?.id === 'q'), 'the answer arrived');
    standing.event(notification('notifications/tools/list_changed'));
    await client.stream.message(({ method }) => method === 'notifications/tools/list_changed');
    turn.event(result(turn.message.id, text('done'))).end();
    await client.stream.message(({ id, method }) => id === 1 && method === undefined);
    const [, progress, question, news, ...answers] = client.heard;
    expect(progress).toEqual(notification('notifications/progress', { progressToken: 'p', progress: 1 }));
    expect(question).toEqual(ask);
    expect(news).toEqual(notification('notifications/tools/list_changed'));
    expect(answers).toEqual([result(1, text('done'))]);
    client.close();
    const ended = () =>
      backend.received.some(({ http, headers }) => http === 'DELETE' && headers['mcp-session-id'] === 'upstream-2');
    await until(ended, 'the upstream session was ended');
    expectRefused(await client.post(call(2)), 404, { ...sessionNotFound, id: 2 });
  });
});

describe('the first event', verifies('transport:sse:endpoint-event'), () => {
  it('names the address for POSTs', async () => {
    const { sse, messages } = await place(echo);
    const stream = await open(sse, { method: 'GET', headers: { accept: 'text/event-stream' } });
    expect({ status: stream.status, type: stream.headers['content-type'] }).toEqual({
      status: 200,
      type: 'text/event-stream',
    });
    await stream.event(() => true);
    const [first] = stream.events;
    expect(first?.event).toBe('endpoint');
    const address = new URL(first?.data ?? '', sse);
    expect(`${address.origin}${address.pathname}`).toBe(messages);
    expect(address.searchParams.get('sessionId')).toMatch(/^[\w-]{22,}$/);
  });
});

describe('a POST', verifies('transport:sse:post:session-routing'), () => {
  it('to the address works as soon as it is announced', async () => {
    const { sse } = await place(echo);
    const client = await SseClient.open(sse);
    expect(await client.post(request(1, 'ping'))).toMatchObject({ status: 202 });
    expect(await client.stream.message(({ id }) => id === 1)).toEqual(result(1, {}));
  });

  it('without a session is 400, and with one that there is not 404; neither reaches the backend', async () => {
    const { sse, messages, backend } = await place(echo);
    await SseClient.open(sse);
    const missing = { code: -32600, message: 'sessionId is required', reason: 'session_required' };
    for (const query of ['', '?sessionId=', '?sessionid=lower']) {
      expectRefused(await send(`${messages}${query}`, { body: call(1) }), 400, { ...missing, id: 1 });
    }
    expectRefused(await send(`${messages}?sessionId=unknown`, { body: call(2) }), 404, { ...sessionNotFound, id: 2 });
    expect(backend.bytes).toBe(0);
  });

  it('reaches the session that it names', async () => {
    const { sse } = await place(echo);
    const clients = [await SseClient.connect(sse), await SseClient.connect(sse)];
    for (const [at, client] of clients.entries()) {
      expect(await client.ask(call('same', { at }))).toEqual(result('same', text(`{"at":${at}}`)));
    }
    for (const client of clients) expect(client.heard).toHaveLength(2);
  });
});
