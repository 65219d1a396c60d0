import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  type CallToolResult,
  CreateMessageRequestSchema,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoProcess } from './peers.ts';

function textIn(result: Awaited<ReturnType<Client['callTool']>>): string {
  return (result as CallToolResult).content
    .map((block) => (block.type === 'text' ? block.text : block.type))
    .join('\n');
}

describe('the demo server and the official legacy client', () => {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } },
  );
  const notices: { method: string; params?: unknown }[] = [];
  const arrivals = new Set<() => void>();

  async function notice(method: string): Promise<void> {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        const at = notices.findIndex((seen) => seen.method === method);
        if (at === -1) return;
        notices.splice(at, 1);
        arrivals.delete(look);
        resolve();
      };
      arrivals.add(look);
      look();
    });
  }

  beforeAll(async () => {
    for (const schema of [
      ToolListChangedNotificationSchema,
      ResourceUpdatedNotificationSchema,
      LoggingMessageNotificationSchema,
      ElicitationCompleteNotificationSchema,
    ]) {
      client.setNotificationHandler(schema, (notification) => {
        notices.push(notification);
        for (const look of arrivals) look();
      });
    }
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      if (params.mode === 'url') return { action: 'accept' };
      const fields = Object.keys(params.requestedSchema.properties);
      const values = { name: 'Ada', language: 'french', colour: 'red', number: 7, wish: 'peace' };
      return {
        action: 'accept',
        content: Object.fromEntries(Object.entries(values).filter(([field]) => fields.includes(field))),
      };
    });
    client.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant',
      content: { type: 'text', text: 'In short: yes.' },
      model: 'test-model',
    }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }));
    await client.connect(new StdioClientTransport(demoProcess));
  });
  afterAll(() => client.close());

  it('introduces itself', () => {
    expect(client.getServerVersion()).toMatchObject({ name: 'bascule-demo', title: 'Bascule demo server' });
    expect(client.getServerCapabilities()).toEqual({
      completions: {},
      logging: {},
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      tools: { listChanged: true },
    });
    expect(client.getInstructions()).toContain('echo');
  });

  it('lists its tools', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'echo',
      'count',
      'log',
      'gallery',
      'fail',
      'ask_name',
      'ask_url',
      'two_questions',
      'interview',
      'summarise',
      'list_roots',
      'touch_note',
      'toggle_tool',
      'toggle_prompt',
      'toggle_resource',
    ]);
  });

  it.each([
    { name: 'echo', args: { message: 'hi' }, expect: '{"message":"hi","length":2}' },
    { name: 'count', args: { n: 3, pauseMs: 0 }, expect: 'Counted to 3' },
    { name: 'gallery', args: {}, expect: 'One of each kind:\nimage\naudio\nresource_link\nresource' },
    { name: 'ask_name', args: {}, expect: 'Bonjour, Ada!' },
    { name: 'two_questions', args: {}, expect: 'You like red and 7' },
    { name: 'interview', args: {}, expect: 'Ada wishes for peace' },
    { name: 'summarise', args: { text: 'Is it?' }, expect: 'In short: yes.' },
    { name: 'list_roots', args: {}, expect: 'file:///work' },
  ])('serves the tool $name', async ({ name, args, expect: expected }) => {
    const result = await client.callTool({ name, arguments: args });
    expect(textIn(result)).toBe(expected);
    expect(result.isError).toBeUndefined();
  });

  it('returns structured content that matches its schema', async () => {
    const result = await client.callTool({ name: 'echo', arguments: { message: 'hé' } });
    expect(result.structuredContent).toEqual({ message: 'hé', length: 2 });
  });

  it('returns tool errors that a model can read', async () => {
    const result = await client.callTool({ name: 'fail', arguments: { reason: 'On purpose' } });
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'On purpose' }] });
  });

  it('reports progress', async () => {
    const cancel = new AbortController();
    const steps: unknown[] = [];
    const onprogress = (step: unknown): void => {
      steps.push(step);
      cancel.abort();
    };
    // The client drops progress that it reads together with the result, so the count must not end by itself.
    const options = { signal: cancel.signal, onprogress };
    const counting = client.callTool({ name: 'count', arguments: { n: 1000, pauseMs: 1 } }, undefined, options);
    await expect(counting).rejects.toThrow();
    expect(steps[0]).toEqual({ progress: 1, total: 1000, message: '1 of 1000' });
  });

  it('stops when it is cancelled, and serves on', async () => {
    const cancel = new AbortController();
    const counting = client.callTool({ name: 'count', arguments: { n: 1000, pauseMs: 1 } }, undefined, {
      signal: cancel.signal,
      onprogress: () => cancel.abort(),
    });
    await expect(counting).rejects.toThrow();
    await expect(client.ping()).resolves.toEqual({});
  });

  it('notifies when a URL elicitation is complete', async () => {
    expect(textIn(await client.callTool({ name: 'ask_url' }))).toBe('The user agreed to open the page');
    await notice('notifications/elicitation/complete');
  });

  it('logs from the level that was set', async () => {
    await client.setLoggingLevel('alert');
    expect(textIn(await client.callTool({ name: 'log' }))).toBe('Sent 2 of 8: alert, emergency');
    await notice('notifications/message');
    await notice('notifications/message');
  });

  it('notifies when the tools change', async () => {
    await client.callTool({ name: 'toggle_tool' });
    await notice('notifications/tools/list_changed');
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('extra');
    expect(textIn(await client.callTool({ name: 'extra' }))).toBe('Here I am');
    await client.callTool({ name: 'toggle_tool' });
    await notice('notifications/tools/list_changed');
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('extra');
  });

  it('notifies subscribers of a resource, and only them', async () => {
    await client.subscribeResource({ uri: 'demo://note' });
    await client.callTool({ name: 'touch_note', arguments: { text: 'Seen' } });
    await notice('notifications/resources/updated');
    expect((await client.readResource({ uri: 'demo://note' })).contents).toEqual([
      { uri: 'demo://note', mimeType: 'text/plain', text: 'Seen' },
    ]);
    await client.unsubscribeResource({ uri: 'demo://note' });
    await client.callTool({ name: 'touch_note' });
    await client.ping();
    expect(notices.filter(({ method }) => method === 'notifications/resources/updated')).toEqual([]);
  });

  it('pages through its resources', async () => {
    const first = await client.listResources();
    expect(first.resources.map(({ uri }) => uri)).toEqual(['demo://about', 'demo://note', 'demo://logo']);
    const second = await client.listResources({ cursor: first.nextCursor ?? 'none' });
    expect(second.resources.map(({ uri }) => uri)).toEqual(['demo://tone', 'demo://languages']);
    expect(second.nextCursor).toBeUndefined();
  });

  it.each([
    { uri: 'demo://logo', expect: { mimeType: 'image/png', blob: expect.stringMatching(/^iVBOR/) } },
    { uri: 'demo://tone', expect: { mimeType: 'audio/wav', blob: expect.stringMatching(/^UklGR/) } },
    { uri: 'demo://phrasebook/german/hello', expect: { mimeType: 'text/plain', text: 'Guten Tag' } },
    { uri: 'demo://letter/french', expect: { mimeType: 'text/plain', text: 'Bonjour, Ada!' } },
  ])('reads $uri', async ({ uri, expect: contents }) => {
    expect((await client.readResource({ uri })).contents).toEqual([{ uri, ...contents }]);
  });

  it('has no other resource', async () => {
    await expect(client.readResource({ uri: 'demo://nothing' })).rejects.toMatchObject({ code: -32002 });
  });

  it('lists its templates and completes their variables', async () => {
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'demo://phrasebook/{language}/{phrase}',
      'demo://letter/{language}',
    ]);
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: 'demo://phrasebook/{language}/{phrase}' },
      argument: { name: 'phrase', value: '' },
      context: { arguments: { language: 'greek' } },
    });
    expect(completion).toEqual({ values: ['hello', 'thanks'], total: 2, hasMore: false });
  });

  it('returns prompts and completes their arguments', async () => {
    const { prompts } = await client.listPrompts();
    expect(prompts.map(({ name }) => name)).toEqual(['greet', 'review_note', 'introduce']);
    const greeting = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada', language: 'spanish' } });
    expect(greeting.messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'Greet Ada in spanish. Begin with "Hola".' } },
    ]);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'language', value: 'g' },
    });
    expect(completion.values).toEqual(['german', 'greek']);
  });

  it('sends a server request in the middle of a prompt', async () => {
    const { messages } = await client.getPrompt({ name: 'introduce' });
    expect(messages).toEqual([
      { role: 'user', content: { type: 'text', text: 'My name is Ada. Please remember it.' } },
    ]);
  });
});
