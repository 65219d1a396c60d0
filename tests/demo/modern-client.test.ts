import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoProcess } from './peers.ts';

function textIn(result: Awaited<ReturnType<Client['callTool']>>): string {
  return result.content.map((block) => (block.type === 'text' ? block.text : block.type)).join('\n');
}

/** Resolves with the next notification of a kind. */
function next(
  client: Client,
  method: 'notifications/tools/list_changed' | 'notifications/resources/updated',
): Promise<void> {
  return new Promise((resolve) => client.setNotificationHandler(method, () => resolve()));
}

describe('the demo server and the official modern client', () => {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  );
  const logged: unknown[] = [];

  beforeAll(async () => {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      if (params.mode === 'url') return { action: 'decline' };
      const fields = Object.keys(params.requestedSchema.properties);
      const values = { name: 'Ada', language: 'french', colour: 'red', number: 7, wish: 'peace' };
      return {
        action: 'accept',
        content: Object.fromEntries(Object.entries(values).filter(([field]) => fields.includes(field))),
      };
    });
    client.setRequestHandler('sampling/createMessage', () => ({
      role: 'assistant',
      content: { type: 'text', text: 'In short: yes.' },
      model: 'test-model',
    }));
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }));
    client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params));
    await client.connect(new StdioClientTransport(demoProcess));
  });
  afterAll(() => client.close());

  it('introduces itself', () => {
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28');
    expect(client.getServerVersion()).toMatchObject({ name: 'bascule-demo', title: 'Bascule demo server' });
    expect(client.getInstructions()).toContain('echo');
  });

  it.each([
    { name: 'echo', args: { message: 'hi' }, expect: '{"message":"hi","length":2}' },
    { name: 'count', args: { n: 3, pauseMs: 0 }, expect: 'Counted to 3' },
    { name: 'gallery', args: {}, expect: 'One of each kind:\nimage\naudio\nresource_link\nresource' },
    { name: 'ask_name', args: {}, expect: 'Bonjour, Ada!' },
    { name: 'ask_url', args: {}, expect: 'The user would rather not open the page' },
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
    await client.listTools();
    const result = await client.callTool({ name: 'echo', arguments: { message: 'hé' } });
    expect(result.structuredContent).toEqual({ message: 'hé', length: 2 });
  });

  it('returns tool errors that a model can read', async () => {
    const result = await client.callTool({ name: 'fail' });
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'You asked for it' }] });
  });

  it('reports progress', async () => {
    const steps: unknown[] = [];
    const onprogress = (step: unknown): number => steps.push(step);
    await client.callTool({ name: 'count', arguments: { n: 2, pauseMs: 50 } }, { onprogress });
    // The client drops progress that it reads together with the result, so only the first step is certain.
    expect(steps[0]).toEqual({ progress: 1, total: 2, message: '1 of 2' });
  });

  it('stops when it is cancelled, and serves on', async () => {
    const cancel = new AbortController();
    const counting = client.callTool(
      { name: 'count', arguments: { n: 1000, pauseMs: 1 } },
      { signal: cancel.signal, onprogress: () => cancel.abort() },
    );
    await expect(counting).rejects.toThrow();
    expect(textIn(await client.callTool({ name: 'echo', arguments: { message: '' } }))).toContain('"length":0');
  });

  it('logs only for requests that name a level', async () => {
    expect(textIn(await client.callTool({ name: 'log' }))).toBe('Sent 0 of 8');
    const result = await client.callTool({ name: 'log', _meta: { 'io.modelcontextprotocol/logLevel': 'critical' } });
    expect(textIn(result)).toBe('Sent 3 of 8: critical, alert, emergency');
    expect(logged).toMatchObject([{ level: 'critical' }, { level: 'alert' }, { level: 'emergency' }]);
  });

  it('notifies listeners of the changes that they requested', async () => {
    const subscription = await client.listen({
      toolsListChanged: true,
      resourceSubscriptions: ['demo://note', 'demo://nothing'],
    });
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true, resourceSubscriptions: ['demo://note'] });
    const toolsChanged = next(client, 'notifications/tools/list_changed');
    await client.callTool({ name: 'toggle_tool' });
    await toolsChanged;
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('extra');
    const noteChanged = next(client, 'notifications/resources/updated');
    await client.callTool({ name: 'touch_note', arguments: { text: 'Seen' } });
    await noteChanged;
    expect((await client.readResource({ uri: 'demo://note' })).contents).toMatchObject([{ text: 'Seen' }]);
    await subscription.close();
    expect(await subscription.closed).toBe('local');
  });

  it('lists, reads and completes', async () => {
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toContain('demo://languages');
    expect((await client.readResource({ uri: 'demo://letter/french' })).contents).toMatchObject([
      { text: 'Bonjour, Ada!' },
    ]);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(2);
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['greet', 'review_note', 'introduce']);
    expect((await client.getPrompt({ name: 'introduce' })).messages).toMatchObject([
      { content: { text: 'My name is Ada. Please remember it.' } },
    ]);
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'greet' },
      argument: { name: 'language', value: 'G' },
    });
    expect(completion.values).toEqual(['german', 'greek']);
  });

  it('has no other resource', async () => {
    await expect(client.readResource({ uri: 'demo://nothing' })).rejects.toMatchObject({
      code: -32602,
      data: { uri: 'demo://nothing' },
    });
  });
});
