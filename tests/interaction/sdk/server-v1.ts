/** The server of the legacy era: SDK v1, as its documentation has one written. */
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  type CreateMessageResult,
  type ElicitResult,
  ListPromptsRequestSchema,
  type LoggingLevel,
  McpError,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod';
import {
  type Built,
  diary,
  document,
  form,
  info,
  instructions,
  likeNotes,
  notes,
  noteUri,
  prompted,
  promptPage,
  prompts,
  question,
  readme,
  say,
  steps,
  visit,
  type World,
} from './world.ts';

const RESOURCE_NOT_FOUND = -32002;

export function buildV1(world: World): Built<McpServer> {
  const server = new McpServer(info, {
    instructions,
    capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
  });
  tools(server, world);
  asking(server, world);
  readable(server);
  const later = () => server.registerTool('later', {}, () => say('here'));
  if (world.grown) later();
  const subscribed = subscriptions(server, world);
  let grown = world.grown;
  return {
    server,
    obey: (order) => {
      if (order.kind === 'grow') {
        if (grown) server.sendToolListChanged();
        else later();
        grown = true;
      } else if (order.kind === 'update' && subscribed.has(order.uri))
        // The session of an earlier gateway may be closed.
        server.server.sendResourceUpdated({ uri: order.uri }).catch(() => undefined);
    },
  };
}

function tools(server: McpServer, world: World): void {
  server.registerTool('echo', { inputSchema: { text: z.string() }, title: 'Echo' }, ({ text }) => say(text));
  server.registerTool(
    'add',
    { inputSchema: { a: z.number(), b: z.number() }, outputSchema: { sum: z.number() } },
    ({ a, b }) => ({ ...say(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool('count', { inputSchema: { to: z.number() } }, async ({ to }, { _meta, sendNotification }) => {
    const progressToken = _meta?.progressToken;
    const told = new Promise<void>((resolve) => void world.unfinished.add(resolve));
    for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
      const params = { progressToken, progress, total: to, message: `step ${progress}` };
      await sendNotification({ method: 'notifications/progress', params });
    }
    // A client forgets whom to tell when the result is there, and looks at that first.
    await told;
    return say('counted');
  });
  server.registerTool('wait', {}, async ({ signal }) => {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    world.tell({ kind: 'waiting' });
    await aborted;
    world.tell({ kind: 'cancelled' });
    return say('too late');
  });
  server.registerTool('talk', {}, async ({ sendNotification }) => {
    for (const level of ['debug', 'info', 'warning', 'error'] as const satisfies readonly LoggingLevel[]) {
      await sendNotification({ method: 'notifications/message', params: { level, logger: 'tool', data: { level } } });
    }
    return say('talked');
  });
  server.registerTool('fail', {}, () => ({ ...say('it did not work'), isError: true }));
}

function asking(server: McpServer, world: World): void {
  const { server: inner } = server;
  const within = (requestId: RequestOptions['relatedRequestId'] & {}): RequestOptions => ({
    relatedRequestId: requestId,
  });
  const given = ({ action, content }: ElicitResult, field: string) => `${action} ${content?.[field]}`;
  const thought = ({ model, content }: CreateMessageResult) =>
    `${model}: ${content.type === 'text' ? content.text : content.type}`;

  server.registerTool('greet', {}, async ({ requestId }) =>
    say(given(await inner.elicitInput(form('name'), within(requestId)), 'name')),
  );
  // Without a word about the call, which is how most are written.
  server.registerTool('greet-aside', { inputSchema: { who: z.string() } }, async ({ who }) => {
    const question = { ...form('name'), message: `${who}, your name?` };
    return say(given(await inner.elicitInput(question), 'name'));
  });
  server.registerTool('visit', {}, async ({ requestId }) => {
    const { action } = await inner.elicitInput({ mode: 'url', ...visit, elicitationId: 'e-1' }, within(requestId));
    return say(action);
  });
  server.registerTool('visit-first', {}, () => {
    if (world.visited) return say('welcome');
    world.visited = true;
    throw new UrlElicitationRequiredError([{ mode: 'url', ...visit, elicitationId: 'e-2' }]);
  });
  server.registerTool('think', {}, async ({ requestId }) =>
    say(thought(await inner.createMessage(question, within(requestId)))),
  );
  server.registerTool('look', {}, async ({ requestId }) => {
    const { roots } = await inner.listRoots(undefined, within(requestId));
    return say(roots.map(({ uri }) => uri).join(' '));
  });
  server.registerTool('both', {}, async ({ requestId }) => {
    const [answer, message] = await Promise.all([
      inner.elicitInput(form('name'), within(requestId)),
      inner.createMessage(question, within(requestId)),
    ]);
    return say(`${given(answer, 'name')}, ${thought(message)}`);
  });
  server.registerTool('steps', {}, async ({ requestId }) => {
    const said: string[] = [];
    for (const step of steps) said.push(given(await inner.elicitInput(form(step), within(requestId)), step));
    return say(said.join(', '));
  });
}

function readable(server: McpServer): void {
  for (const uri of [readme, diary]) {
    const { name, read } = document(uri);
    server.registerResource(name, uri, { mimeType: 'text/plain' }, read);
  }
  const template = new ResourceTemplate(noteUri, { list: undefined, complete: { name: likeNotes } });
  server.registerResource('note', template, {}, ({ href: uri }, { name }) => {
    if (!notes.includes(String(name))) throw new McpError(RESOURCE_NOT_FOUND, 'Resource not found', { uri });
    return { contents: [{ uri, text: `note of ${name}` }] };
  });
  const argsSchema = { name: completable(z.string(), likeNotes) };
  for (const prompt of prompts) {
    server.registerPrompt(prompt, { argsSchema }, ({ name }) => prompted(prompt, name));
  }
  // It has no pages of its own.
  server.server.setRequestHandler(ListPromptsRequestSchema, ({ params }) => promptPage(params?.cursor));
}

function subscriptions({ server }: McpServer, world: World): ReadonlySet<string> {
  const subscribed = new Set<string>();
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    subscribed.add(uri);
    world.tell({ kind: 'subscribed', uri });
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    subscribed.delete(uri);
    world.tell({ kind: 'unsubscribed', uri });
    return {};
  });
  return subscribed;
}
