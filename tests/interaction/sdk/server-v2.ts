/** The server of the modern era: SDK v2, as its documentation has one written. */
import {
  acceptedContent,
  completable,
  createRequestStateCodec,
  type InputRequests,
  inputRequired,
  inputResponse,
  type LoggingLevel,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
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

/** One for all instances: a round may be answered by another instance than the one before. */
const states = createRequestStateCodec<{ readonly said: readonly string[] }>({ key: new Uint8Array(32).fill(7) });
const nothing = z.object({});
type Responses = Parameters<typeof inputResponse>[0];

export function buildV2(world: World): Built<McpServer> {
  const server = new McpServer(info, {
    instructions,
    capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } },
    requestState: { verify: states.verify },
  });
  tools(server, world);
  asking(server);
  readable(server);
  const later = () => server.registerTool('later', { inputSchema: nothing }, () => say('here'));
  if (world.grown) later();
  let grown = world.grown;
  return {
    server,
    obey: (order) => {
      if (order.kind === 'grow') {
        if (grown) server.sendToolListChanged();
        else later();
        grown = true;
      } else if (order.kind === 'update') void server.server.sendResourceUpdated({ uri: order.uri });
    },
  };
}

function tools(server: McpServer, world: World): void {
  server.registerTool('echo', { inputSchema: z.object({ text: z.string() }), title: 'Echo' }, ({ text }) => say(text));
  server.registerTool(
    'add',
    { inputSchema: z.object({ a: z.number(), b: z.number() }), outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ ...say(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool('count', { inputSchema: z.object({ to: z.number() }) }, async ({ to }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    const told = new Promise<void>((resolve) => void world.unfinished.add(resolve));
    for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
      const params = { progressToken, progress, total: to, message: `step ${progress}` };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    // A client forgets whom to tell when the result is there, and looks at that first.
    await told;
    return say('counted');
  });
  server.registerTool('wait', { inputSchema: nothing }, async (_args, { mcpReq: { signal } }) => {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    world.tell({ kind: 'waiting' });
    await aborted;
    world.tell({ kind: 'cancelled' });
    return say('too late');
  });
  server.registerTool('talk', { inputSchema: nothing }, async (_args, { mcpReq }) => {
    for (const level of ['debug', 'info', 'warning', 'error'] as const satisfies readonly LoggingLevel[]) {
      await mcpReq.log(level, { level }, 'tool');
    }
    return say('talked');
  });
  server.registerTool('fail', { inputSchema: nothing }, () => ({ ...say('it did not work'), isError: true }));
}

function asking(server: McpServer): void {
  /** The input for a form, or none before the elicitation. */
  const given = (responses: Responses, key: string): string | undefined => {
    const view = inputResponse(responses, key);
    if (view.kind !== 'elicit') return undefined;
    return `${view.action} ${acceptedContent(responses, key)?.[key]}`;
  };
  const thought = (responses: Responses): string | undefined => {
    const view = inputResponse(responses, 'thought');
    if (view.kind !== 'sampling') return undefined;
    const content = [view.result.content].flat()[0];
    return `${view.result.model}: ${content?.type === 'text' ? content.text : content?.type}`;
  };
  const ask = (inputRequests: InputRequests) => inputRequired({ inputRequests });
  const inputSchema = nothing;

  server.registerTool('greet', { inputSchema }, (_args, { mcpReq: { inputResponses } }) => {
    const said = given(inputResponses, 'name');
    return said === undefined ? ask({ name: inputRequired.elicit(form('name')) }) : say(said);
  });
  server.registerTool('visit', { inputSchema }, (_args, { mcpReq: { inputResponses } }) => {
    const view = inputResponse(inputResponses, 'door');
    return view.kind === 'elicit' ? say(view.action) : ask({ door: inputRequired.elicitUrl(visit) });
  });
  server.registerTool('think', { inputSchema }, (_args, { mcpReq: { inputResponses } }) => {
    const said = thought(inputResponses);
    return said === undefined ? ask({ thought: inputRequired.createMessage(question) }) : say(said);
  });
  server.registerTool('look', { inputSchema }, (_args, { mcpReq: { inputResponses } }) => {
    const view = inputResponse(inputResponses, 'roots');
    if (view.kind === 'roots') return say(view.roots.map(({ uri }) => uri).join(' '));
    return ask({ roots: inputRequired.listRoots() });
  });
  server.registerTool('both', { inputSchema }, (_args, { mcpReq: { inputResponses } }) => {
    const name = given(inputResponses, 'name');
    const answer = thought(inputResponses);
    if (name !== undefined && answer !== undefined) return say(`${name}, ${answer}`);
    return ask({ name: inputRequired.elicit(form('name')), thought: inputRequired.createMessage(question) });
  });
  server.registerTool('steps', { inputSchema }, async (_args, { mcpReq }) => {
    const before = mcpReq.requestState<{ said: readonly string[] }>()?.said ?? [];
    const answer = given(mcpReq.inputResponses, steps[before.length] ?? '');
    const said = answer === undefined ? before : [...before, answer];
    const next = steps[said.length];
    if (next === undefined) return say(said.join(', '));
    return inputRequired({
      inputRequests: { [next]: inputRequired.elicit(form(next)) },
      requestState: await states.mint({ said }),
    });
  });
}

function readable(server: McpServer): void {
  for (const uri of [readme, diary]) {
    const { name, read } = document(uri);
    server.registerResource(name, uri, { mimeType: 'text/plain' }, read);
  }
  const template = new ResourceTemplate(noteUri, { list: undefined, complete: { name: likeNotes } });
  server.registerResource('note', template, {}, ({ href: uri }, { name }) => {
    if (!notes.includes(String(name))) throw new ResourceNotFoundError(uri);
    return { contents: [{ uri, text: `note of ${name}` }] };
  });
  const argsSchema = z.object({
    name: completable(z.string(), likeNotes),
  });
  for (const prompt of prompts) {
    server.registerPrompt(prompt, { argsSchema }, ({ name }) => prompted(prompt, name));
  }
  // It has no pages of its own.
  server.server.setRequestHandler('prompts/list', ({ params }) => promptPage(params?.cursor));
}
