/**
 * Every feature of the demo server, as an official client sees it through the gateway. The same tour for both
 * generations of clients.
 */
import type { Transport as TransportV2 } from '@modelcontextprotocol/client';
import { expect, onTestFinished } from 'vitest';
import * as z from 'zod';
import { type Json, until } from '../harness/client.ts';
import type { CallOptions, SdkClient } from '../harness/pairs.ts';
import { ClientV1, ClientV2 } from '../harness/sdk.ts';

const self = { name: 'tourist', version: '1.0.0' };
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** A client that can answer everything, and keeps what it hears. */
export interface Tourist {
  readonly client: SdkClient;
  readonly heard: readonly Json[];
  readonly revision: string | undefined;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Json>;
  /** Asks for log messages from that level on, and has some sent. */
  log(level: string): Promise<Json>;
  /** Subscribes to changes. */
  listen(): Promise<void>;
}

/** The answers of a person, a model and an editor. */
const answers: Readonly<Record<string, (params: Json) => Json>> = {
  'elicitation/create': (params) => {
    if (params.mode === 'url') return { action: 'decline' };
    const wanted = Object.keys(params.requestedSchema.properties);
    const values = { name: 'Ada', language: 'french', colour: 'red', number: 7, wish: 'peace' };
    const content = Object.fromEntries(Object.entries(values).filter(([field]) => wanted.includes(field)));
    return { action: 'accept', content };
  },
  'sampling/createMessage': () => ({
    role: 'assistant',
    content: { type: 'text', text: 'In short: yes.' },
    model: 'test-model',
  }),
  'roots/list': () => ({ roots: [{ uri: 'file:///work', name: 'work' }] }),
};
const notifications = ['message', 'tools/list_changed', 'resources/updated'].map((name) => `notifications/${name}`);
const note = { uri: 'demo://note' };

/** SDK 1.x. */
export async function touristV1(transport: object): Promise<Tourist> {
  const client = new ClientV1(self, { capabilities });
  const heard: Json[] = [];
  const named = (method: string) =>
    z.looseObject({ method: z.literal(method), params: z.unknown().optional() }) as never;
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(named(method), (async ({ params }: Json) => answer(params)) as never);
  }
  for (const method of notifications) {
    client.setNotificationHandler(named(method), ((told: Json) => void heard.push(told)) as never);
  }
  onTestFinished(() => client.close());
  await client.connect(transport as Parameters<ClientV1['connect']>[0]);
  return {
    client,
    heard,
    revision: (transport as { protocolVersion?: string }).protocolVersion,
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, undefined, options),
    log: async (level) => {
      await client.setLoggingLevel(level as 'critical');
      return client.callTool({ name: 'log' });
    },
    listen: async () => {
      await client.subscribeResource(note);
    },
  };
}

/** SDK 2.x: modern, unless it is to find out by itself what it is talking to. */
export async function touristV2(transport: TransportV2, mode: 'auto' | 'modern' = 'modern'): Promise<Tourist> {
  const client = new ClientV2(self, {
    capabilities,
    versionNegotiation: { mode: mode === 'auto' ? mode : { pin: '2026-07-28' } },
  });
  const heard: Json[] = [];
  for (const [method, answer] of Object.entries(answers)) {
    client.setRequestHandler(method as 'roots/list', (async ({ params }: Json) => answer(params)) as never);
  }
  for (const method of notifications) {
    client.setNotificationHandler(method as 'notifications/message', (told: Json) => void heard.push(told));
  }
  onTestFinished(() => client.close());
  await client.connect(transport);
  return {
    client,
    heard,
    revision: client.getNegotiatedProtocolVersion(),
    call: (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options),
    log: (level) => client.callTool({ name: 'log', _meta: { 'io.modelcontextprotocol/logLevel': level } }),
    listen: async () => {
      await client.listen({ toolsListChanged: true, resourceSubscriptions: [note.uri] });
    },
  };
}

function textIn({ content }: Json): string {
  return content.map((block: Json) => (block.type === 'text' ? block.text : block.type)).join('\n');
}

/** The tools, and what each of them says. */
const tools: readonly { name: string; args?: Record<string, unknown>; says: string }[] = [
  { name: 'echo', args: { message: 'hi' }, says: '{"message":"hi","length":2}' },
  { name: 'count', args: { n: 3, pauseMs: 0 }, says: 'Counted to 3' },
  { name: 'gallery', says: 'One of each kind:\nimage\naudio\nresource_link\nresource' },
  { name: 'fail', says: 'You asked for it' },
  { name: 'ask_name', says: 'Bonjour, Ada!' },
  { name: 'ask_url', says: 'The user would rather not open the page' },
  { name: 'two_questions', says: 'You like red and 7' },
  { name: 'interview', says: 'Ada wishes for peace' },
  { name: 'summarise', args: { text: 'Is it?' }, says: 'In short: yes.' },
  { name: 'list_roots', says: 'file:///work' },
];

/** A page at a time, where the client does not do that by itself. */
async function everyResource(client: SdkClient): Promise<readonly string[]> {
  const uris: string[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await client.listResources(cursor === undefined ? undefined : { cursor });
    uris.push(...page.resources.map(({ uri }: Json) => uri));
    cursor = page.nextCursor;
  }
  return uris;
}

export async function tour({ client, heard, call, log, listen }: Tourist): Promise<void> {
  expect(client.getServerVersion()).toMatchObject({ name: 'bascule-demo' });
  expect(client.getInstructions()).toContain('echo');
  expect(client.getServerCapabilities()).toMatchObject({
    completions: {},
    logging: {},
    resources: { subscribe: true },
  });

  const listed = (await client.listTools()).tools.map(({ name }: Json) => name);
  for (const { name, args, says } of tools) {
    expect(listed).toContain(name);
    expect(textIn(await call(name, args)), name).toBe(says);
  }
  expect((await call('echo', { message: 'hé' })).structuredContent).toEqual({ message: 'hé', length: 2 });
  expect((await call('fail')).isError).toBe(true);

  const steps: Json[] = [];
  await call('count', { n: 2, pauseMs: 20 }, { onprogress: (step) => steps.push(step) });
  expect(steps[0]).toMatchObject({ progress: 1, total: 2 });
  const giveUp = new AbortController();
  const counting = call('count', { n: 1000, pauseMs: 5 }, { signal: giveUp.signal, onprogress: () => giveUp.abort() });
  await expect(counting).rejects.toThrow();

  expect(textIn(await log('critical'))).toBe('Sent 3 of 8: critical, alert, emergency');
  const logged = () => heard.filter(({ method }) => method === 'notifications/message');
  await until(() => logged().length === 3, 'three log messages have come');
  expect(logged().map(({ params }) => params.level)).toEqual(['critical', 'alert', 'emergency']);

  expect(await everyResource(client)).toEqual(
    expect.arrayContaining(['demo://about', 'demo://logo', 'demo://languages']),
  );
  expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(2);
  expect((await client.readResource({ uri: 'demo://letter/french' })).contents).toMatchObject([
    { text: 'Bonjour, Ada!' },
  ]);
  expect((await client.listPrompts()).prompts.map(({ name }: Json) => name)).toContain('greet');
  const greeting = await client.getPrompt({ name: 'greet', arguments: { name: 'Ada' } });
  expect(greeting.messages[0].content.text).toContain('Ada');
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'greet' },
    argument: { name: 'language', value: 'G' },
  });
  expect(completion.values).toEqual(['german', 'greek']);

  await listen();
  await call('toggle_tool');
  await call('touch_note', { text: 'Seen' });
  for (const method of ['notifications/tools/list_changed', 'notifications/resources/updated']) {
    await until(() => heard.some((told) => told.method === method), `${method} has come`);
  }
  expect((await client.listTools()).tools.map(({ name }: Json) => name)).toContain('extra');
  expect((await client.readResource(note)).contents).toMatchObject([{ text: 'Seen' }]);
}
