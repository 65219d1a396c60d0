/** Requests in a loop: the table of them. */
import type { Group, Place, Target } from '../contestants/contestant.ts';
import { AMONG, BACKENDS, backendName } from '../contestants/many.ts';
import { readPages } from '../load/pages.ts';
import type { Call } from '../load/requests.ts';
import type { Expected } from '../load/verify.ts';
import {
  type CallResult,
  makeEcho,
  makeRecords,
  makeReport,
  makeTools,
  TOOLS,
  type Tool,
  toolNames,
} from '../programs/payloads.ts';

export interface Question {
  readonly call: Call;
  readonly expected: Expected;
}

export interface CallWorkload {
  readonly id: string;
  readonly title: string;
  readonly group: Group;
  readonly target: Target;
  readonly connections: number;
  /** After so many the compiler has done its work. */
  readonly warmCalls: number;
  /** Of one round of one contestant: short, so that contestants are neighbours in time. */
  readonly roundCalls: number;
  /** Part of an experiment, not of what Bascule costs: run where it is named. */
  readonly isOnRequest?: true;
  /** What is asked there. */
  asking(place: Place): Asking | Promise<Asking>;
}

/** What a connection asks, in turn, over and over. */
export type Asking = (connection: number) => readonly Question[];

export function echo({ toolName = (tool) => tool }: Place, connection: number): Question {
  const text = `this is connection ${connection}, with a "quote" and some words to make it a sentence`;
  const call = { method: 'tools/call', name: toolName(toolNames.echo, connection), arguments: { text } };
  return { call, expected: { ...makeEcho(text) } };
}

function large(name: string, make: () => CallResult): () => Asking {
  let expected: Expected | undefined;
  return () => {
    expected ??= { ...make() };
    const question = { call: { method: 'tools/call', name, arguments: { text: 'all' } }, expected };
    return () => [question];
  };
}

function list(): Asking {
  const question = { call: { method: 'tools/list' }, expected: { tools: makeTools() } };
  return () => [question];
}

/** The tools of all backends, so many of each, each under the name that tells where it is from. */
export function mergedTools(counts: readonly number[]): Tool[] {
  return counts.flatMap((count, index) =>
    makeTools(count).map((tool) => ({ ...tool, name: `${backendName(index)}__${tool.name}` })),
  );
}

function pages(count: number): (place: Place) => Promise<Asking> {
  return async ({ url }) => {
    const all = mergedTools(Array.from({ length: BACKENDS }, () => TOOLS));
    const read = (await readPages(url, all)).slice(0, count);
    return () => read;
  };
}

const report = large(toolNames.report, makeReport);
const records = large(toolNames.records, makeRecords);

/** Enough to keep a gateway busy all the time, without a queue that hides how long one call takes. */
export const MANY = 16;
const SOME = 4;

export const small = {
  warmCalls: 40_000,
  roundCalls: 1000,
  asking: (place: Place) => (connection: number) => [echo(place, connection)],
} as const;
const lists = { warmCalls: 1500, roundCalls: 200 } as const;
const mebibytes = { warmCalls: 120, roundCalls: 24 } as const;

export const smallCalls: readonly CallWorkload[] = [
  {
    id: 'call-modern',
    title: 'Small `tools/call`, 2026-07-28',
    group: 'http',
    target: 'modern',
    connections: MANY,
    ...small,
  },
  {
    id: 'call-modern-alone',
    title: 'Small `tools/call`, 2026-07-28, one at a time',
    group: 'http',
    target: 'modern',
    connections: 1,
    ...small,
  },
  {
    id: 'call-legacy',
    title: 'Small `tools/call`, 2025-11-25, backend answers in JSON',
    group: 'http',
    target: 'legacy',
    connections: MANY,
    ...small,
  },
  {
    id: 'call-legacy-sse',
    title: 'Small `tools/call`, 2025-11-25, backend answers in SSE',
    group: 'http',
    target: 'legacy-sse',
    connections: MANY,
    ...small,
  },
];

const largeAnswers: readonly CallWorkload[] = [
  {
    id: 'result-text',
    title: 'A result of 1 MiB, one long text',
    group: 'http',
    target: 'modern',
    connections: SOME,
    ...mebibytes,
    asking: report,
  },
  {
    id: 'result-records',
    title: 'A result of 1 MiB, many small objects',
    group: 'http',
    target: 'modern',
    connections: SOME,
    ...mebibytes,
    asking: records,
  },
  {
    id: 'list',
    title: '`tools/list` of 200 tools',
    group: 'http',
    target: 'modern',
    connections: SOME,
    ...lists,
    asking: list,
  },
];

const overStdio: readonly CallWorkload[] = [
  {
    id: 'stdio-call-modern',
    title: 'stdio backend: small `tools/call`, 2026-07-28',
    group: 'stdio',
    target: 'modern',
    connections: MANY,
    ...small,
  },
  {
    id: 'stdio-call-legacy',
    title: 'stdio backend: small `tools/call`, 2025-11-25',
    group: 'stdio',
    target: 'legacy',
    connections: MANY,
    ...small,
  },
  {
    id: 'stdio-result-text',
    title: 'stdio backend: a result of 1 MiB, one long text',
    group: 'stdio',
    target: 'modern',
    connections: SOME,
    ...mebibytes,
    asking: report,
  },
  {
    id: 'stdio-list',
    title: 'stdio backend: `tools/list` of 200 tools',
    group: 'stdio',
    target: 'modern',
    connections: SOME,
    ...lists,
    asking: list,
  },
];

const merged: readonly CallWorkload[] = [
  {
    id: 'list-merged',
    title: `\`tools/list\` of ${BACKENDS} backends with 200 tools each, cached: the first page`,
    group: 'lists',
    target: 'cached',
    connections: SOME,
    ...lists,
    asking: pages(1),
  },
  {
    id: 'list-merged-all',
    title: `\`tools/list\` of ${BACKENDS} backends with 200 tools each, cached: page after page`,
    group: 'lists',
    target: 'cached',
    connections: SOME,
    ...lists,
    asking: pages(Number.POSITIVE_INFINITY),
  },
  {
    id: 'call-merged',
    title: `Small \`tools/call\` at the merged endpoint of ${AMONG} backends, 2026-07-28`,
    group: 'among',
    target: 'cached',
    connections: MANY,
    ...small,
  },
  {
    id: 'observe',
    title: 'Small `tools/call`, 2026-07-28, with metrics that are scraped, and with the request log',
    group: 'observe',
    target: 'modern',
    connections: MANY,
    ...small,
  },
];

const guarded: readonly CallWorkload[] = [
  {
    id: 'identity',
    title: 'Small `tools/call`, 2026-07-28, by who is let in',
    group: 'identity',
    target: 'modern',
    connections: MANY,
    ...small,
  },
  {
    id: 'policy',
    title: 'Small `tools/call`, 2026-07-28, decided by rules and recorded',
    group: 'policy',
    target: 'modern',
    connections: MANY,
    ...small,
  },
  {
    id: 'usual',
    title: 'Small `tools/call`, 2026-07-28, the usual deployment: 10 merged backends, key, 100 rules, audit',
    group: 'usual',
    target: 'cached',
    connections: MANY,
    ...small,
  },
];

const traced: CallWorkload = {
  id: 'traces',
  title: 'Small `tools/call`, 2026-07-28, by what is traced',
  group: 'traces',
  target: 'modern',
  connections: MANY,
  ...small,
};

const edges: CallWorkload = {
  id: 'edges',
  title: 'Small `tools/call`, 2026-07-28, through relays with other edges of HTTP',
  group: 'edges',
  target: 'modern',
  connections: MANY,
  ...small,
  isOnRequest: true,
};

export const callWorkloads: readonly CallWorkload[] = [
  ...smallCalls,
  ...largeAnswers,
  ...overStdio,
  ...merged,
  ...guarded,
  traced,
  edges,
];
