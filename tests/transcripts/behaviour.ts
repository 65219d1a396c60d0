/**
 * What the scripted backends say, whichever transport they are reached by. Results are JSON text, in unusual spelling
 * here and there.
 */

export type Json = Readonly<Record<string, unknown>>;

export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Json & { readonly _meta?: Json; readonly arguments?: Json };
  readonly result?: unknown;
  readonly error?: unknown;
}

/** One backend, as far as its answers depend on it. */
export interface Character {
  readonly name: string;
  readonly revision: string;
  /** Names that other backends do not have; all other names are shared by all backends. */
  readonly own: string;
}

/** How a backend speaks while it answers. */
export interface Talk {
  notify(method: string, params: Json): void;
  /** A server request, for backends of legacy revisions. */
  ask(method: string, params?: Json): Promise<Message>;
  /** Tells everybody who listens that everything has changed. */
  announce(): void;
}

export const uri = 'demo://note/1';
const modern = '2026-07-28';
export const isModern = ({ revision }: Character) => revision >= modern;

export const capabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  logging: {},
  completions: {},
};

const form = {
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
/** More members than a question needs. */
const crowd = Object.fromEntries(Array.from({ length: 1100 }, (_, index) => [`x${index}`, 0]));
const visit = { mode: 'url', message: 'Open it', url: 'https://pages.example/agree', elicitationId: 'visit-1' };
const sample = { messages: [{ role: 'user', content: { type: 'text', text: 'Hello?' } }], maxTokens: 16 };

interface Question {
  readonly method: string;
  readonly params?: Json;
}
const elicitation: Question = { method: 'elicitation/create', params: form };

/** The rounds of questions that a tool asks before it is done. */
const rounds: Readonly<Record<string, readonly (readonly Question[])[]>> = {
  elicit: [[elicitation]],
  url: [[{ method: 'elicitation/create', params: visit }]],
  sample: [[{ method: 'sampling/createMessage', params: sample }]],
  roots: [[{ method: 'roots/list' }]],
  two: [[elicitation, { method: 'roots/list' }]],
  thrice: [[elicitation], [{ method: 'roots/list' }], [elicitation]],
  crowded: [
    [{ method: 'elicitation/create', params: { ...form, requestedSchema: { ...crowd, ...form.requestedSchema } } }],
  ],
  twins: [[{ method: 'elicitation/create', params: { ...form, Mode: 'url' } }]],
};

/** Results of tools that need nothing else. */
const results: Readonly<Record<string, string>> = {
  fail: '{"content":[{"type":"text","text":"It broke"}],"isError":true}',
  structured: '{"content":[],"structuredContent":{"n":1.50,"list":[1,2]}}',
  listed: '{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]}',
  media:
    '{"content":[{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"resource_link","uri":"demo://note/1","name":"note","description":"A note"},{"type":"image","data":"AAAA","mimeType":"image/png"}]}',
  unknown_member: '{ "content" : [ ] , "x-extra" : 1.0E+2 , "_meta" : { "example/é" : "\\u00e9" } }',
};

/** Answers that no client should get as they are. */
const broken: Readonly<Record<string, (id: string) => string>> = {
  garbage: () => 'this is no JSON',
  both: (id) => `{"jsonrpc":"2.0","id":${id},"result":{},"error":{"code":1,"message":"x"}}`,
  scalar: (id) => `{"jsonrpc":"2.0","id":${id},"result":5}`,
  stranger: () => '{"jsonrpc":"2.0","id":"nobody","result":{"content":[]}}',
};

const toolNames = (own: string) => [
  ...[
    'echo',
    'progress',
    'changed',
    'error',
    'hang',
    'visit',
    'visit_twins',
    ...Object.keys(rounds),
    ...Object.keys(results),
  ],
  ...Object.keys(broken),
  ...(own === '' ? [] : [`${own}_only`]),
];

const described = (name: string) => ({
  ...{ name, title: `The ${name}`, description: `Does ${name}`, inputSchema: { type: 'object' } },
  ...(name === 'structured' && { outputSchema: { type: 'object' } }),
  annotations: { readOnlyHint: name === 'echo' },
});

/** Requests other than calls of tools: results as objects. */
function plainResult({ name, revision, own }: Character, { method, params }: Message): object | undefined {
  const cursor = params?.cursor;
  const names = toolNames(own);
  switch (method) {
    case 'server/discover':
      return { supportedVersions: [modern], capabilities, instructions: `About ${name}` };
    case 'initialize':
      return {
        ...{ protocolVersion: revision, capabilities, serverInfo: { name, title: 'T', version: '1' } },
        instructions: `About ${name}`,
      };
    case 'ping':
    case 'logging/setLevel':
    case 'resources/subscribe':
    case 'resources/unsubscribe':
      return {};
    case 'tools/list':
      // Two pages.
      if (cursor === undefined) return { tools: names.slice(0, 9).map(described), nextCursor: `${name}-2` };
      return cursor === `${name}-2` ? { tools: names.slice(9).map(described) } : undefined;
    case 'prompts/list':
      return { prompts: ['greet', `${own}_prompt`].map((one) => ({ name: one, arguments: [{ name: 'who' }] })) };
    case 'prompts/get':
      return { messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(params?.arguments ?? {}) } }] };
    case 'resources/list':
      return { resources: [uri, `demo://${own}/2`].map((one) => ({ uri: one, name: one, mimeType: 'text/plain' })) };
    case 'resources/templates/list':
      return { resourceTemplates: [{ uriTemplate: `demo://${own}/{id}`, name: 'any' }] };
    case 'resources/read':
      if (params?.uri === 'demo://missing') return undefined;
      return { contents: [{ uri: params?.uri, text: `Text of ${name}` }] };
    case 'completion/complete':
      return { completion: { values: ['one', 'two'], total: 2, hasMore: false } };
    default:
      return undefined;
  }
}

/** Undefined: no answer, ever. */
export async function answerTo(message: Message, who: Character, talk: Talk): Promise<string | undefined> {
  const id = JSON.stringify(message.id);
  const error = (code: number, text: string, data?: object) =>
    `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message: text, data })}}`;
  if (message.method === (isModern(who) ? 'initialize' : 'server/discover')) return error(-32601, 'Method not found');
  if (message.method === 'tools/call') {
    const said = await called(message, who, talk);
    if (said === undefined) return undefined;
    if ('whole' in said) return said.whole;
    if ('code' in said) return error(said.code, said.text, said.data);
    return `{"jsonrpc":"2.0","id":${id},"result":${isModern(who) ? complete(said.result) : said.result}}`;
  }
  const result = plainResult(who, message);
  if (result !== undefined) {
    const marks = { ttlMs: 60_000, cacheScope: 'public', _meta: { 'io.modelcontextprotocol/serverInfo': info(who) } };
    const text = JSON.stringify(isModern(who) ? { resultType: 'complete', ...marks, ...result } : result);
    return `{"jsonrpc":"2.0","id":${id},"result":${text}}`;
  }
  if (message.method === 'resources/read') return error(isModern(who) ? -32602 : -32002, 'Resource not found', { uri });
  return message.method === 'tools/list' ? error(-32602, 'Unknown cursor') : error(-32601, 'Method not found');
}

const info = ({ name }: Character) => ({ name, title: 'T', version: '1' });

/** A modern result says what it is. */
function complete(result: string): string {
  return result.startsWith('{"resultType"') ? result : result.replace('{', '{"resultType":"complete",');
}

type Said =
  | { readonly result: string }
  | { readonly whole: string }
  | { readonly code: number; readonly text: string; readonly data?: object };

async function called(message: Message, who: Character, talk: Talk): Promise<Said | undefined> {
  const { params } = message;
  const name = String(params?.name);
  const text = (said: string): Said => ({ result: JSON.stringify({ content: [{ type: 'text', text: said }] }) });
  if (results[name] !== undefined) return { result: results[name] };
  if (broken[name] !== undefined) return { whole: broken[name](JSON.stringify(message.id)) };
  if (rounds[name] !== undefined) return isModern(who) ? modernRound(name, message) : legacyRounds(name, talk, text);
  switch (name) {
    case 'echo':
    case `${who.own}_only`:
      return text(`${who.name}: ${JSON.stringify(params?.arguments)}`);
    case 'progress': {
      const progressToken = params?._meta?.progressToken;
      if (progressToken !== undefined) {
        talk.notify('notifications/progress', { progressToken, progress: 1, total: 2 });
        talk.notify('notifications/progress', { progressToken, progress: 2, total: 2, message: 'Almost' });
      }
      talk.notify('notifications/message', { level: 'debug', logger: 'l', data: 'Loud' });
      talk.notify('notifications/message', { level: 'error', data: { why: 'Important' } });
      return text('Done');
    }
    case 'changed':
      talk.announce();
      return text('Told');
    case 'hang':
      return undefined;
    case 'error':
      return { code: -32050, text: 'The tool is away', data: { retry: false } };
    case 'visit':
      return { code: -32042, text: 'Visit first', data: { elicitations: [visit] } };
    case 'visit_twins':
      return { code: -32042, text: 'Visit first', data: { elicitations: [{ ...visit, Mode: 'form' }] } };
    default:
      return { code: -32602, text: `No tool ${name}` };
  }
}

async function legacyRounds(name: string, { ask }: Talk, text: (said: string) => Said): Promise<Said> {
  const heard: unknown[] = [];
  for (const questions of rounds[name] ?? []) {
    const answers = await Promise.all(questions.map(({ method, params }) => ask(method, params)));
    heard.push(...answers.map(({ result, error }) => result ?? error));
  }
  return text(`Heard ${JSON.stringify(heard)}`);
}

/** The state says how many rounds there were; it comes back as it was. */
function modernRound(name: string, { params }: Message): Said {
  const all = rounds[name] ?? [];
  const done = params?.requestState === undefined ? 0 : Number(String(params.requestState).split('-')[1]);
  const questions = all[done];
  if (questions === undefined) {
    const heard = JSON.stringify(params?.inputResponses);
    return { result: JSON.stringify({ content: [{ type: 'text', text: `Heard ${heard}` }] }) };
  }
  const inputRequests = Object.fromEntries(
    questions.map((question, index) => [`q${index}`, { params: {}, ...question }]),
  );
  return {
    result: JSON.stringify({ resultType: 'input_required', inputRequests, requestState: `state-${done + 1}` }),
  };
}

/** Everything that can change, as notifications. */
export const news: readonly { readonly method: string; readonly params: Json; readonly flag?: string }[] = [
  { method: 'notifications/tools/list_changed', params: {}, flag: 'toolsListChanged' },
  { method: 'notifications/prompts/list_changed', params: {}, flag: 'promptsListChanged' },
  { method: 'notifications/resources/list_changed', params: {}, flag: 'resourcesListChanged' },
  { method: 'notifications/resources/updated', params: { uri } },
];
