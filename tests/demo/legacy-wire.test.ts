import { describe, expect, it } from 'vitest';
import { legacyPeer, type Message, rawPeer } from './peers.ts';

const legacyRevisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const everything = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

function namesIn(answer: Message, list: string): string[] {
  return ((answer.result?.[list] ?? []) as { name: string }[]).map(({ name }) => name);
}

/** Every member name at any depth, but for the data that tools carry. */
function members(value: unknown): Set<string> {
  const found = new Set<string>();
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [name, inner] of Object.entries(part)) {
      if (!Array.isArray(part)) found.add(name);
      walk(inner);
    }
  };
  walk(value);
  return found;
}

describe('initialize', () => {
  it.each([
    ...legacyRevisions.map((asked) => ({ asked, given: asked })),
    { asked: '2026-07-28', given: '2025-11-25' },
    { asked: '1999-01-01', given: '2025-11-25' },
  ])('answers $given to a request for $asked', async ({ asked, given }) => {
    const { result } = await rawPeer().request(1, 'initialize', { protocolVersion: asked, capabilities: {} });
    expect(result?.protocolVersion).toBe(given);
  });

  it('needs a version', async () => {
    expect((await rawPeer().request(1, 'initialize', {})).error?.code).toBe(-32602);
  });

  it('is rejected a second time, and the session continues', async () => {
    const peer = await legacyPeer('2025-06-18');
    expect((await peer.request(1, 'initialize', { protocolVersion: '2025-11-25' })).error?.code).toBe(-32600);
    expect((await peer.request(2, 'ping')).result).toEqual({});
  });

  it('precedes every request except ping', async () => {
    const peer = rawPeer();
    expect((await peer.request(1, 'ping')).result).toEqual({});
    expect((await peer.request(2, 'tools/list')).error?.code).toBe(-32602);
  });
});

describe('what older revisions get', () => {
  it.each([
    { revision: '2024-11-05', absent: ['title', 'annotations', 'outputSchema', 'icons'], present: [] },
    { revision: '2025-03-26', absent: ['title', 'outputSchema', 'icons'], present: ['annotations'] },
    { revision: '2025-06-18', absent: ['icons'], present: ['annotations', 'title', 'outputSchema'] },
    { revision: '2025-11-25', absent: [], present: ['annotations', 'title', 'outputSchema', 'icons'] },
  ])('in definitions of tools: $revision', async ({ revision, absent, present }) => {
    const peer = await legacyPeer(revision);
    const tools = (await peer.request(1, 'tools/list')).result?.tools as object[];
    const names = new Set(tools.flatMap((tool) => Object.keys(tool)));
    for (const name of absent) expect(names).not.toContain(name);
    for (const name of present) expect(names).toContain(name);
  });

  it.each([
    { revision: '2024-11-05', content: ['text', 'image', 'text', 'text', 'resource'] },
    { revision: '2025-03-26', content: ['text', 'image', 'audio', 'text', 'resource'] },
    { revision: '2025-06-18', content: ['text', 'image', 'audio', 'resource_link', 'resource'] },
  ])('as content: $revision', async ({ revision, content }) => {
    const peer = await legacyPeer(revision);
    const { result } = await peer.request(1, 'tools/call', { name: 'gallery' });
    expect(((result?.content ?? []) as { type: string }[]).map(({ type }) => type)).toEqual(content);
  });

  it.each([
    { revision: '2025-03-26', structured: undefined },
    { revision: '2025-06-18', structured: { message: 'a', length: 1 } },
  ])('as structured content: $revision', async ({ revision, structured }) => {
    const peer = await legacyPeer(revision);
    const { result } = await peer.request(1, 'tools/call', { name: 'echo', arguments: { message: 'a' } });
    expect(result?.structuredContent).toEqual(structured);
    expect(result?.content).toEqual([{ type: 'text', text: '{"message":"a","length":1}' }]);
  });

  it.each([
    { revision: '2025-03-26', tools: [], prompts: ['greet', 'review_note'] },
    {
      revision: '2025-06-18',
      tools: ['ask_name', 'two_questions', 'interview'],
      prompts: ['greet', 'review_note', 'introduce'],
    },
    {
      revision: '2025-11-25',
      tools: ['ask_name', 'ask_url', 'two_questions', 'interview'],
      prompts: ['greet', 'review_note', 'introduce'],
    },
  ])('server requests: $revision', async ({ revision, tools, prompts }) => {
    const peer = await legacyPeer(revision, everything);
    const eliciting = ['ask_name', 'ask_url', 'two_questions', 'interview'];
    const listed = namesIn(await peer.request(1, 'tools/list'), 'tools');
    expect(listed.filter((name) => eliciting.includes(name))).toEqual(tools);
    expect(namesIn(await peer.request(2, 'prompts/list'), 'prompts')).toEqual(prompts);
    for (const name of eliciting.filter((known) => !tools.includes(known))) {
      expect((await peer.request(name, 'tools/call', { name })).error?.code).toBe(-32602);
    }
  });

  it.each([
    { revision: '2024-11-05', expect: { progressToken: 0, progress: 1, total: 2 } },
    { revision: '2025-03-26', expect: { progressToken: 0, progress: 1, total: 2, message: '1 of 2' } },
  ])('as progress: $revision', async ({ revision, expect: expected }) => {
    const peer = await legacyPeer(revision);
    const params = { name: 'count', arguments: { n: 2, pauseMs: 0 }, _meta: { progressToken: 0 } };
    await peer.request(1, 'tools/call', params);
    const steps = peer.inbox.named('notifications/progress').map((step) => step.params);
    expect(steps[0]).toEqual(expected);
    expect(steps).toHaveLength(2);
  });

  it.each(legacyRevisions)('contains no member of the modern era: %s', async (revision) => {
    const peer = await legacyPeer(revision);
    const requests = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'];
    for (const method of requests) await peer.request(method, method);
    await peer.request('read', 'resources/read', { uri: 'demo://about' });
    await peer.request('call', 'tools/call', { name: 'toggle_prompt' });
    const seen = members(peer.inbox.messages);
    for (const name of ['resultType', 'ttlMs', 'cacheScope', '_meta']) expect(seen).not.toContain(name);
  });

  it.each(['server/discover', 'subscriptions/listen', 'no/such/method', 'constructor'])('has no %s', async (method) => {
    expect((await (await legacyPeer('2025-11-25')).request(1, method)).error?.code).toBe(-32601);
  });
});

describe('server requests', () => {
  async function asked(peer: Awaited<ReturnType<typeof legacyPeer>>, id: string): Promise<Message> {
    return peer.inbox.find((message) => message.id === id && message.method !== undefined);
  }

  function call(name: string, id = 1): object {
    return { jsonrpc: '2.0', id, method: 'tools/call', params: { name } };
  }

  it('are requests with ids of their own', async () => {
    const peer = await legacyPeer('2025-06-18', { elicitation: {} });
    peer.send(call('ask_name'));
    const ask = await asked(peer, 'ask-1');
    expect(ask).toMatchObject({ method: 'elicitation/create', params: { message: 'Whom may I greet?' } });
    expect(ask.params).not.toHaveProperty('mode');
    peer.send({ jsonrpc: '2.0', id: 'ask-1', result: { action: 'accept', content: { name: 'Ada' } } });
    expect((await peer.inbox.answerTo(1)).result?.content).toEqual([{ type: 'text', text: 'Hello, Ada!' }]);
  });

  it('can be out together, and be answered in any order', async () => {
    const peer = await legacyPeer('2025-11-25', { elicitation: {} });
    peer.send(call('two_questions'));
    await asked(peer, 'ask-1');
    await asked(peer, 'ask-2');
    peer.send({ jsonrpc: '2.0', id: 'ask-2', result: { action: 'accept', content: { number: 3 } } });
    peer.send({ jsonrpc: '2.0', id: 'ask-1', result: { action: 'decline' } });
    expect((await peer.inbox.answerTo(1)).result?.content).toEqual([
      { type: 'text', text: 'You like no colour and 3' },
    ]);
  });

  it.each([
    { action: 'decline', text: 'No greeting: the user chose to decline' },
    { action: 'cancel', text: 'No greeting: the user chose to cancel' },
  ])('can be answered with $action', async ({ action, text }) => {
    const peer = await legacyPeer('2025-11-25', { elicitation: {} });
    peer.send(call('ask_name'));
    await asked(peer, 'ask-1');
    peer.send({ jsonrpc: '2.0', id: 'ask-1', result: { action } });
    expect((await peer.inbox.answerTo(1)).result).toEqual({ content: [{ type: 'text', text }] });
  });

  it('that fail fail the tool, and cancel the server requests beside them', async () => {
    const peer = await legacyPeer('2025-11-25', { elicitation: {} });
    peer.send(call('two_questions'));
    await asked(peer, 'ask-2');
    peer.send({ jsonrpc: '2.0', id: 'ask-1', error: { code: -32603, message: 'no screen' } });
    const { result } = await peer.inbox.answerTo(1);
    expect(result).toMatchObject({
      isError: true,
      content: [{ text: 'The client answered with an error: no screen' }],
    });
    expect(peer.inbox.named('notifications/cancelled')).toMatchObject([{ params: { requestId: 'ask-2' } }]);
  });

  it('are withdrawn when their call is cancelled, and the call has no answer', async () => {
    const peer = await legacyPeer('2025-11-25', { elicitation: {} });
    peer.send(call('ask_name'));
    await asked(peer, 'ask-1');
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await peer.inbox.find(({ method }) => method === 'notifications/cancelled');
    peer.send({ jsonrpc: '2.0', id: 'ask-1', result: { action: 'accept', content: { name: 'Late' } } });
    await peer.request(2, 'ping');
    expect(peer.inbox.messages.filter(({ id }) => id === 1)).toEqual([]);
  });

  it.each([
    { name: 'ask_name', capabilities: {}, missing: '{"elicitation":{"form":{}}}' },
    { name: 'ask_name', capabilities: { elicitation: { url: {} } }, missing: '{"elicitation":{"form":{}}}' },
    { name: 'ask_url', capabilities: { elicitation: {} }, missing: '{"elicitation":{"url":{}}}' },
    { name: 'list_roots', capabilities: {}, missing: '{"roots":{}}' },
  ])('are never sent to clients that lack $missing', async ({ name, capabilities, missing }) => {
    const peer = await legacyPeer('2025-11-25', capabilities);
    const { result } = await peer.request(1, 'tools/call', { name });
    expect(result).toMatchObject({ isError: true, content: [{ text: `The client did not declare ${missing}` }] });
    expect(peer.inbox.messages.filter(({ method }) => method !== undefined)).toEqual([]);
  });

  it('for a URL carry an id, and clients that accepted are notified of the completion', async () => {
    const peer = await legacyPeer('2025-11-25', everything);
    peer.send(call('ask_url'));
    const { params } = await asked(peer, 'ask-1');
    expect(params).toMatchObject({ mode: 'url', url: expect.stringMatching(/^https:/) });
    peer.send({ jsonrpc: '2.0', id: 'ask-1', result: { action: 'accept' } });
    await peer.inbox.answerTo(1);
    expect(peer.inbox.named('notifications/elicitation/complete')).toMatchObject([
      { params: { elicitationId: params?.elicitationId } },
    ]);
  });
});

describe('sessions', () => {
  it('keep the log level', async () => {
    const peer = await legacyPeer('2025-11-25');
    expect((await peer.request(1, 'logging/setLevel', { level: 'loud' })).error?.code).toBe(-32602);
    await peer.request(2, 'tools/call', { name: 'log', arguments: { level: 'debug' } });
    expect(peer.inbox.named('notifications/message')).toEqual([]);
    expect((await peer.request(3, 'logging/setLevel', { level: 'debug' })).result).toEqual({});
    await peer.request(4, 'tools/call', { name: 'log', arguments: { level: 'debug', message: 'psst' } });
    expect(peer.inbox.named('notifications/message')).toMatchObject([
      { params: { level: 'debug', logger: 'demo', data: { message: 'psst' } } },
    ]);
  });

  it('are notified of changes in every list', async () => {
    const peer = await legacyPeer('2025-11-25');
    for (const one of ['tool', 'prompt', 'resource']) {
      await peer.request(one, 'tools/call', { name: `toggle_${one}` });
      expect(peer.inbox.messages.at(-2)?.method).toBe(`notifications/${one}s/list_changed`);
    }
    expect(namesIn(await peer.request(1, 'prompts/list'), 'prompts')).toContain('extra');
    expect((await peer.request(2, 'resources/read', { uri: 'demo://extra' })).result).toBeDefined();
  });

  it('can subscribe only to existing resources', async () => {
    const peer = await legacyPeer('2025-11-25');
    expect((await peer.request(1, 'resources/subscribe', { uri: 'demo://nothing' })).error).toMatchObject({
      code: -32002,
      data: { uri: 'demo://nothing' },
    });
  });

  it.each(['2025-03-26', '2025-11-25'])('take batches in one revision alone: %s', async (revision) => {
    const peer = await legacyPeer(revision);
    const before = peer.inbox.messages.length;
    peer.send([
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'no/such' },
    ]);
    await peer.inbox.find((message) => peer.inbox.messages.indexOf(message) >= before);
    expect(peer.inbox.messages.slice(before)).toMatchObject(
      revision === '2025-03-26'
        ? [
            [
              { id: 1, result: {} },
              { id: 2, error: { code: -32601 } },
            ],
          ]
        : [{ error: { code: -32600 } }],
    );
  });
});
