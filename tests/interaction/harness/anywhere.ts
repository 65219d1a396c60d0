/** What has to hold wherever a request arrives, where a gateway has several processes. */
import { expect } from 'vitest';
import { call, cancelled, expectRefused, type Held, request, result, sessionNotFound, text } from './behind.ts';
import { type Json, send, until } from './client.ts';
import { connectLegacy, modern } from './eras.ts';
import type { ScriptedBackend } from './http-backend.ts';
import { SseClient } from './sse-client.ts';

/** So that each of three processes gets one request at least. */
const PROCESSES = 3;

/** `held`: the calls of the backend. */
export async function expectCancelledAnywhere(url: string, backend: ScriptedBackend, held: Held): Promise<void> {
  const client = await connectLegacy(url);
  const stream = await client.listen();
  expect(stream.status).toBe(200);
  const pending = client.stream(call('c'));
  await held.nth(1);
  for (let n = 0; n < PROCESSES; n++) expect((await client.post(cancelled('c', 'enough'))).status).toBe(202);
  await until(
    () => backend.received.some(({ message }) => message?.method === 'notifications/cancelled'),
    'the backend hears of it',
  );
  (await pending).close();
  stream.close();
  expect((await client.end()).status).toBe(204);
  for (let n = 0; n < PROCESSES; n++)
    expectRefused(await client.post(request(n, 'ping')), 404, { ...sessionNotFound, id: n });
}

/** At an AskingBackend: the answers of a legacy client arrive at other processes than its calls. */
export async function expectAnsweredAnywhere(url: string): Promise<void> {
  const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
  for (let n = 0; n < PROCESSES; n++) {
    const answer = await client.stream(request(n, 'tools/call', { name: 'greet', arguments: {} }));
    const asked = await answer.message(({ method }) => method === 'elicitation/create');
    const accepted = await client.post(result(asked.id, { action: 'accept', content: { name: 'Ada' } }));
    expect(accepted.status).toBe(202);
    const over = await answer.message(({ id, method }) => id === n && method === undefined);
    expect(over.result).toBeDefined();
    answer.close();
  }
}

/** At an AskingBackend: the retries of a modern client arrive at other processes than its calls. */
export async function expectRetriedAnywhere(url: string): Promise<void> {
  const capabilities = { elicitation: { form: {} } };
  for (let n = 0; n < 2 * PROCESSES; n++) {
    const params = { name: 'greet', arguments: { n } };
    const first = await send(url, modern({ method: 'tools/call', params, capabilities }));
    const { requestState, inputRequests } = first.json().result as Json;
    const [key = ''] = Object.keys(inputRequests);
    const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };
    const retried = { ...params, requestState, inputResponses };
    const second = await send(url, modern({ id: 2, method: 'tools/call', params: retried, capabilities }));
    expect(second.json().result?.resultType, second.body).toBe('complete');
  }
}

/** At a backend that echoes. */
export async function expectHeardAnywhere(sseUrl: string): Promise<void> {
  const client = await SseClient.connect(sseUrl);
  for (let n = 1; n <= 2 * PROCESSES; n++)
    expect((await client.ask(call(n, { n }))).result).toEqual(text(JSON.stringify({ n })));
  client.close();
}
