/** Backends that know HTTP+SSE (2024-11-05) alone: how they are found, and what works through the gateway then. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, open, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { plainV1, type ServerV1, type Talk } from '../harness/sdk-servers.ts';
import { type SseServer, startSseV1 } from '../harness/sdk-sse-server.ts';

const form = {
  mode: 'form' as const,
  message: 'Your name?',
  requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] },
};
const isAnswer = (asked: number) => (message: Json) => message.id === asked && message.method === undefined;
const text = (said: string) => ({ content: [{ type: 'text', text: said }] });
const work = (name: string, id: number, meta: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: {}, ...meta },
});

interface Noticed {
  /** What became of the tool that waits. */
  readonly waits: string[];
  /** In which session each call ran. */
  readonly ran: string[];
}

function server({ waits, ran }: Noticed): ServerV1 {
  const tools: Readonly<Record<string, (talk: Talk) => Promise<object>>> = {
    greet: async () => text('hello'),
    count: async ({ meta, notify }) => {
      for (const progress of [1, 2]) {
        await notify('notifications/progress', { progressToken: meta.progressToken, progress });
      }
      return text('counted');
    },
    ask: async () => {
      const answer = await made.elicitInput(form);
      return text(`${answer.action} ${answer.content?.name ?? ''}`);
    },
    wait: ({ signal }) => {
      waits.push('waiting');
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          waits.push('cancelled');
          resolve(text('too late'));
        });
      });
    },
  };
  const made: ServerV1 = plainV1(
    { capabilities: { tools: {} } },
    {
      'tools/call': ({ name }: Json, talk) => {
        ran.push(talk.session ?? '');
        return tools[name]?.(talk) ?? text('unknown');
      },
    },
  );
  return made;
}

async function behind(transport?: 'sse' | 'streamable-http' | 'auto') {
  const noticed: Noticed = { waits: [], ran: [] };
  const backend = await startSseV1(() => server(noticed));
  const gateway = await startGateway({ backends: { b: { url: backend.url, ...(transport && { transport }) } } });
  return { ...noticed, backend, gateway, url: gateway.url('b') };
}

/** The one session that is open, once the probe's is not any more. */
async function onlySession(backend: SseServer): Promise<string> {
  await until(() => backend.sessions.size === 1, 'one session is open');
  return [...backend.sessions.keys()][0] ?? '';
}

const fallback = 'flow:compat:streamable-then-sse-fallback';

describe('an address of HTTP+SSE', verifies(fallback), () => {
  it('is detected when POSTs are rejected there, once for all clients', async () => {
    const { backend, gateway, url } = await behind();
    const discovery = await gateway.assembled.backends.get('b')?.discover();
    expect(discovery).toMatchObject({ eras: ['legacy'], serverInfo: { name: 'sdk-server' } });
    const found = ['POST /sse', 'POST /sse', 'GET /sse', 'POST /messages'];
    expect(backend.heard).toEqual(found);
    const client = await connectLegacy(url);
    expect(backend.heard.slice(found.length, found.length + 2)).toEqual(['GET /sse', 'POST /messages']);
    expect((await client.post(work('greet', 1))).json().result).toEqual(text('hello'));
    expect((await send(url, modern({ method: 'tools/call', params: { name: 'greet' } }))).json().result).toMatchObject({
      resultType: 'complete',
      ...text('hello'),
    });
    expect(backend.heard.filter((request) => request === 'POST /sse')).toHaveLength(2);
  });

  it('is not probed in another way if the config sets the transport', async () => {
    const { backend, url } = await behind('sse');
    const client = await connectLegacy(url);
    expect((await client.post(work('greet', 1))).json().result).toEqual(text('hello'));
    expect(backend.heard).not.toContain('POST /sse');
  });

  it('is not looked for where the configuration names the other transport', async () => {
    const { backend, url } = await behind('streamable-http');
    const answer = await send(url, modern({ method: 'server/discover' }));
    expect(answer.json().error).toMatchObject({ code: -32603, data: { reason: 'backend_invalid' } });
    expect(backend.heard).toEqual(['POST /sse', 'POST /sse']);
  });
});

describe('a legacy client of an HTTP+SSE backend', verifies(fallback), () => {
  it('gets progress under its own token', async () => {
    const { url } = await behind();
    const client = await connectLegacy(url);
    const stream = await client.stream(work('count', 1, { _meta: { progressToken: 'mine' } }));
    expect((await stream.message(isAnswer(1))).result).toEqual(text('counted'));
    const reports = stream.events.filter(({ data }) => data !== undefined && data !== '').map((event) => event.json());
    expect(reports.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params)).toEqual(
      [1, 2].map((progress) => ({ progressToken: 'mine', progress })),
    );
  });

  it('gets a server request in the middle of a call', async () => {
    const { url } = await behind();
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const stream = await client.stream(work('ask', 1));
    const ask = await stream.message(({ method }) => method === 'elicitation/create');
    expect(ask.params).toMatchObject({ message: form.message, requestedSchema: form.requestedSchema });
    await client.post({ jsonrpc: '2.0', id: ask.id, result: { action: 'accept', content: { name: 'Ada' } } });
    expect((await stream.message(isAnswer(1))).result).toEqual(text('accept Ada'));
  });

  it('cancels a call', async () => {
    const { waits, url } = await behind();
    const client = await connectLegacy(url);
    const answering = client.stream(work('wait', 1));
    await until(() => waits.includes('waiting'), 'the tool runs');
    await client.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await until(() => waits.includes('cancelled'), 'the tool is cancelled');
    const stream = await answering;
    await stream.ended;
    expect(stream.text()).not.toContain('too late');
  });

  it('ends its session there with its own', async () => {
    const { backend, url } = await behind();
    const client = await connectLegacy(url);
    await onlySession(backend);
    await client.end();
    await until(() => backend.sessions.size === 0, 'no session is open');
  });

  it.each(['cut', 'forget'] as const)('gets 404 when that session is lost: %s', async (how) => {
    const { backend, url } = await behind();
    const client = await connectLegacy(url);
    backend.end(await onlySession(backend), how);
    // A cut is noticed by itself; what was forgotten is not, until somebody asks.
    const pinged = async () => (await client.post({ jsonrpc: '2.0', id: 0, method: 'ping' })).status;
    if (how === 'cut') while ((await pinged()) !== 404);
    const answer = await client.post(work('greet', 1));
    expect([answer.status, answer.json().error.code]).toEqual([404, -32001]);
    const again = await connectLegacy(url);
    expect((await again.post(work('greet', 2))).json().result).toEqual(text('hello'));
  });

  it('gets an error for a call whose stream is cut', async () => {
    const { backend, waits, url } = await behind();
    const client = await connectLegacy(url);
    const answering = client.stream(work('wait', 1));
    await until(() => waits.includes('waiting'), 'the tool runs');
    backend.end(await onlySession(backend), 'cut');
    const stream = await answering;
    await stream.ended;
    expect(stream.text()).toContain('"error"');
  });
});

describe('a modern client of an HTTP+SSE backend', verifies(fallback), () => {
  const capabilities = { elicitation: { form: {} } };
  const ask = (id: number, more: object = {}) =>
    modern({ id, method: 'tools/call', params: { name: 'ask', arguments: {}, ...more }, capabilities });

  it('answers a server request by calling again', verifies(fallback, 'gateway:bridge:parked-call'), async () => {
    const { url } = await behind();
    const first = (await send(url, ask(1))).json().result;
    expect(first.resultType).toBe('input_required');
    const [key = ''] = Object.keys(first.inputRequests);
    expect(first.inputRequests[key]).toMatchObject({ method: 'elicitation/create', params: { message: form.message } });
    const inputResponses = { [key]: { action: 'accept', content: { name: 'Ada' } } };
    const second = await send(url, ask(2, { inputResponses, requestState: first.requestState }));
    expect(second.json().result).toMatchObject({ resultType: 'complete', ...text('accept Ada') });
  });

  it('has one stream per call that may send requests, so that answers reach their call', async () => {
    const { ran, url } = await behind();
    const names = ['Ada', 'Grace', 'Edith'];
    const asked = await Promise.all(names.map(async (_, n) => (await send(url, ask(n))).json().result));
    expect(new Set(ran).size).toBe(names.length);
    const answers = names.map(async (name, n) => {
      const { inputRequests, requestState } = asked[n];
      const [key = ''] = Object.keys(inputRequests);
      const inputResponses = { [key]: { action: 'accept', content: { name } } };
      return (await send(url, ask(10 + n, { inputResponses, requestState }))).json().result;
    });
    expect((await Promise.all(answers)).map(({ content }) => content[0].text)).toEqual(
      names.map((name) => `accept ${name}`),
    );
  });

  it('cancels a call by closing its stream', async () => {
    const { waits, url } = await behind();
    const call = modern({ id: 1, method: 'tools/call', params: { name: 'wait', arguments: {} } });
    const stream = await open(url, call);
    await until(() => waits.includes('waiting'), 'the tool runs');
    stream.close();
    await until(() => waits.includes('cancelled'), 'the tool is cancelled');
  });

  it('does not notice that a pooled session was forgotten', async () => {
    const { backend, ran, url } = await behind();
    const greet = async (id: number) =>
      (await send(url, modern({ id, method: 'tools/call', params: { name: 'greet' } }))).json().result;
    await greet(1);
    backend.end(ran[0] ?? '', 'forget');
    expect(await greet(2)).toMatchObject(text('hello'));
    expect(ran).toHaveLength(2);
    expect(ran[1]).not.toBe(ran[0]);
  });
});
