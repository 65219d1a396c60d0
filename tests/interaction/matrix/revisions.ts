/** One row for each thing that revisions have, or do not have: what comes of it for clients that are older than it. */
import { type OlderRow, olderRows } from '../../../src/bridge/revision-compat.ts';
import type { Revision } from '../../../src/wire/revisions.ts';
import { text } from '../harness/behind.ts';
import { type Deeds, type Question, refused } from './actors.ts';
import {
  accepted,
  asking,
  call,
  form,
  one,
  places,
  returning,
  roots,
  type Scene,
  sample,
  sampled,
  tool,
  visit,
  visitFirst,
} from './scenes.ts';
import type { Stage } from './stage.ts';
import { changes, inWords, withoutEnvelope, works } from './words.ts';

export interface Item {
  readonly name: string;
  /** The first revision that has it, and the last one. */
  readonly since: Revision;
  readonly until?: Revision;
  /** Rows of the gateway's own table that it tries. */
  tries?(row: OlderRow): boolean;
  /** What the client declares; as much as its revision has without it. */
  readonly declares?: object;
  act(backend: Revision): Scene;
  /** What comes of it. */
  expect(client: Revision, backend: Revision): string;
}

/** What the newest clients declare. */
const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };

/** What clients of a revision declare if they can do everything that it has. */
export function declared(revision: Revision): object {
  const first = { sampling: {}, roots: {} };
  if (revision < '2025-06-18') return first;
  if (revision < '2025-11-25') return { ...first, elicitation: {} };
  return { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
}

const always = () => works;

/** Works for clients that have it; these words for those that do not. */
const since = (revision: Revision, older: string) => (client: Revision) => (client < revision ? older : works);

/** A question that a client of an older revision cannot be put: each kind of backend hears of it in its own way. */
const unknown = 'refused: revision_too_old';

function question(name: string, first: Revision, asked: Question, answer: object, expect: Item['expect']): Item {
  return {
    name,
    since: first,
    tries: (row) => row.kind === 'ask' && row.method === asked.method && row.applies(asked.params ?? {}),
    act: () => asking(one(asked, answer)),
    expect,
  };
}

function content(type: string, first: Revision, block: object, older: string): Item {
  const result = { content: [{ type, ...block }] };
  return {
    name: `content: ${type}`,
    since: first,
    tries: (row) => row.kind === 'content' && row.type === type,
    act: () =>
      tool(
        () => result,
        async ({ client }) => {
          const came = await client.request('tools/call', call);
          const [got] = came.result.content;
          return JSON.stringify(got) === JSON.stringify(result.content[0]) ? works : `degraded: as ${got.type}`;
        },
      ),
    expect: since(first, older),
  };
}

/** Everything that has members of its own. */
const things = [
  { thing: 'tool', method: 'tools/list', list: 'tools', entry: { name: 't', inputSchema: { type: 'object' } } },
  { thing: 'prompt', method: 'prompts/list', list: 'prompts', entry: { name: 'p' } },
  { thing: 'resource', method: 'resources/list', list: 'resources', entry: { name: 'r', uri: 'a://b' } },
  {
    thing: 'template',
    method: 'resources/templates/list',
    list: 'resourceTemplates',
    entry: { name: 'r', uriTemplate: 'a://{b}' },
  },
] as const;
const values: Readonly<Record<string, unknown>> = {
  annotations: { readOnlyHint: true },
  outputSchema: { type: 'object' },
  icons: [{ src: 'https://a.example/i.png' }],
};

/** The members of a thing that a backend of that revision has, and the older ones have not. */
function membersOf(thing: string, backend: Revision): Readonly<Record<string, unknown>> {
  const rows = olderRows.flatMap((row) => (row.kind === 'member' && row.of === thing ? [row] : []));
  const known = rows.filter((row) => row.since <= backend);
  return Object.fromEntries(known.map(({ member }) => [member, values[member] ?? `the ${member}`]));
}

export function serverInfo(backend: Revision): object {
  return { name: 'server', version: '1', ...membersOf('server', backend) };
}

/** Lists with every member that the backend knows; what a client misses is collected from all of them. */
function listing(backend: Revision): Scene {
  const argument = { name: 'a', ...membersOf('argument', backend) };
  const results = things.map(({ thing, method, list, entry }) => ({
    method,
    list,
    sent: { ...entry, ...membersOf(thing, backend) },
    // Of prompts alone: things inside things.
    inside: thing === 'prompt' ? { arguments: [argument] } : {},
  }));
  const deeds: Deeds = Object.fromEntries(
    results.map(({ method, list, sent, inside }) => [method, () => ({ [list]: [{ ...sent, ...inside }] })]),
  );
  const run = async ({ client }: Stage) => {
    const missed = new Set(changes({ ...serverInfo(backend) }, client.greeting.serverInfo));
    for (const { method, list, sent } of results) {
      const { result } = await client.request(method);
      const { arguments: found = [argument], ...got } = result[list][0];
      for (const change of [...changes(sent, got), ...changes(argument, found[0])]) missed.add(change);
    }
    return inWords([...missed].sort());
  };
  return { deeds, run };
}

function missedMembers(client: Revision, backend: Revision): string {
  const names = [
    ...(client < '2025-03-26' && backend >= '2025-03-26' ? ['annotations'] : []),
    ...(client < '2025-06-18' && backend >= '2025-06-18' ? ['outputSchema', 'title'] : []),
    ...(client < '2025-11-25' && backend >= '2025-11-25' ? ['description', 'icons', 'websiteUrl'] : []),
  ];
  return names.length === 0 ? works : `degraded: without ${names.sort().join(', ')}`;
}

/** The names of all that is declared, members of members too. */
function declarations(capabilities: object): Readonly<Record<string, true>> {
  const names = Object.entries(capabilities).flatMap(([name, members]) => [
    name,
    ...Object.keys(members).map((member) => `${name}.${member}`),
  ]);
  return Object.fromEntries(names.map((name) => [name, true]));
}

function unheardOf(client: Revision): string {
  const modes = ['elicitation.form', 'elicitation.url', 'sampling.tools', 'sampling.context'];
  const names = client < '2025-06-18' ? ['elicitation', ...modes] : client < '2025-11-25' ? modes : [];
  return names.length === 0 ? works : `degraded: without ${names.sort().join(', ')}`;
}

const structured = { content: [], structuredContent: { n: 1 } };
const choice = (field: object): Question => ({
  method: 'elicitation/create',
  params: { message: 'Which?', requestedSchema: { type: 'object', properties: { which: field } } },
});
const chosen = (which: unknown) => ({ action: 'accept', content: { which } });
const titled = [
  { const: 'r', title: 'Red' },
  { const: 'g', title: 'Green' },
];
const sampling = (more: object, block: unknown): Question => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: block }], maxTokens: 10, ...more },
});
const words = { type: 'text', text: 'Say something' };

export const items: readonly Item[] = [
  {
    name: 'tool call',
    since: '2024-11-05',
    act: () => returning('tools/call', call, text('done')),
    expect: always,
  },
  {
    name: 'titles, icons, annotations and the like',
    since: '2024-11-05',
    tries: (row) => row.kind === 'member' && row.of !== 'call',
    act: listing,
    expect: missedMembers,
  },
  {
    name: 'structured output',
    since: '2025-06-18',
    tries: (row) => row.kind === 'member' && row.of === 'call',
    act: () =>
      tool(
        () => structured,
        async ({ client }) => {
          const { content: blocks, structuredContent } = withoutEnvelope(
            (await client.request('tools/call', call)).result,
          ) as { content: { type: string; text: string }[]; structuredContent?: object };
          if (structuredContent !== undefined)
            return inWords(changes(structured, { content: blocks, structuredContent }));
          const [block] = blocks;
          return block?.text === JSON.stringify(structured.structuredContent) ? `degraded: as ${block.type}` : 'lost';
        },
      ),
    expect: since('2025-06-18', 'degraded: as text'),
  },
  content('audio', '2025-03-26', { data: 'AA==', mimeType: 'audio/wav' }, 'degraded: as resource'),
  content('resource_link', '2025-06-18', { uri: 'a://b', name: 'link' }, 'degraded: as text'),
  {
    name: 'capabilities of the newest clients',
    since: '2024-11-05',
    tries: (row) => row.kind === 'capability',
    declares: everything,
    act: () =>
      tool(
        ({ declared: told }) => text(JSON.stringify(told)),
        async ({ client }) => {
          const { result } = await client.request('tools/call', call);
          const told = declarations(JSON.parse(result.content[0].text));
          return inWords([...changes(declarations(everything), told)].sort());
        },
      ),
    expect: unheardOf,
  },
  question('elicitation: form', '2025-06-18', form('Your name?'), accepted('Ada'), since('2025-06-18', unknown)),
  question(
    'elicitation: form that names its mode',
    '2025-11-25',
    { method: 'elicitation/create', params: { mode: 'form', ...form('Your name?').params } },
    accepted('Ada'),
    (client) => (client === '2025-06-18' ? 'works, without mode' : since('2025-06-18', unknown)(client)),
  ),
  question(
    'elicitation: titled choices',
    '2025-11-25',
    choice({ type: 'string', oneOf: titled }),
    chosen('r'),
    (client) => (client === '2025-06-18' ? 'works, requestedSchema changed' : since('2025-06-18', unknown)(client)),
  ),
  question(
    'elicitation: several choices at once',
    '2025-11-25',
    choice({ type: 'array', items: { type: 'string', enum: ['r', 'g'] } }),
    chosen(['r']),
    since('2025-11-25', unknown),
  ),
  question('elicitation: URL', '2025-11-25', visit, { action: 'accept' }, (client, backend) => {
    if (client < '2025-11-25') return unknown;
    return client === backend ? works : `works, ${client === '2025-11-25' ? 'with' : 'without'} elicitationId`;
  }),
  {
    name: 'elicitation: URL, before the call (-32042)',
    since: '2025-11-25',
    until: '2025-11-25',
    tries: (row) => row.kind === 'error',
    act: visitFirst,
    expect: (client) => (client > '2025-11-25' ? 'works, as a question' : since('2025-11-25', unknown)(client)),
  },
  question('sampling', '2024-11-05', sample, sampled, always),
  question(
    'sampling: with audio',
    '2025-03-26',
    sampling({}, { type: 'audio', data: 'AA==', mimeType: 'audio/wav' }),
    sampled,
    since('2025-03-26', unknown),
  ),
  question('sampling: with tools', '2025-11-25', sampling({ tools: [] }, words), sampled, since('2025-11-25', unknown)),
  question(
    'sampling: several blocks in a message',
    '2025-11-25',
    sampling({}, [words, words]),
    sampled,
    since('2025-11-25', unknown),
  ),
  question('roots', '2024-11-05', roots, places, always),
  {
    name: 'error of a server',
    since: '2024-11-05',
    act: () =>
      tool(
        () => {
          throw refused(-32000, 'Out of paper');
        },
        async ({ client }) => {
          const { error } = await client.request('tools/call', call);
          return error?.code === -32000 && error.message === 'Out of paper'
            ? works
            : `not so: ${JSON.stringify(error)}`;
        },
      ),
    expect: always,
  },
];
