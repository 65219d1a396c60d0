/**
 * The script of operations: for our own programs in every library the same, for other people's servers what they have.
 */
import type { Answers, Step } from './job.ts';

export const call = (name: string, args: Readonly<Record<string, unknown>> = {}): Step => ({
  method: 'tools/call',
  params: { name, arguments: args },
});

const list = (what: string): Step => ({ method: `${what}/list`, params: {} });

export const LISTS: readonly Step[] = [list('tools'), list('prompts'), list('resources'), list('resources/templates')];

/** Mistakes that a client can make with any server. */
export const MISTAKES: readonly Step[] = [
  call('no-such-tool', { x: 1 }),
  { method: 'prompts/get', params: { name: 'no-such-prompt' } },
  { method: 'resources/read', params: { uri: 'none://such-resource' } },
];

/** What some libraries or versions have and others have not. */
export type Feature = 'elicitation' | 'sampling' | 'roots' | 'completion' | 'log' | 'logging';

const FEATURES: Readonly<Record<Feature, readonly Step[]>> = {
  elicitation: [call('ask')],
  sampling: [call('sample')],
  roots: [call('roots')],
  log: [call('log')],
  logging: [{ method: 'logging/setLevel', params: { level: 'debug' } }, call('log')],
  completion: [
    {
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'name', value: 'A' } },
    },
  ],
};

/** Tools that ask the client for something. */
export const ASKING_TOOLS: ReadonlySet<string> = new Set([
  'ask',
  'sample',
  'roots',
  'trigger-sampling-request',
  'trigger-elicitation-request',
  'get-roots-list',
]);

/** The programs in `servers/` offer the same things under the same names. */
export function programSteps(features: readonly Feature[]): readonly Step[] {
  return [
    ...LISTS,
    call('echo', { message: 'Grüße, "world" \u{1F30D} \\ \n end' }),
    call('add', { a: 2, b: 40 }),
    call('add', { a: 'two', b: 40 }),
    call('add', {}),
    call('fail'),
    call('count', { to: 3 }),
    { method: 'prompts/get', params: { name: 'greet', arguments: { name: 'Ada' } } },
    { method: 'prompts/get', params: { name: 'greet', arguments: {} } },
    { method: 'resources/read', params: { uri: 'test://about' } },
    { method: 'resources/read', params: { uri: 'test://items/7' } },
    ...features.flatMap((feature) => FEATURES[feature]),
    ...MISTAKES,
  ];
}

export const ANSWERS: Answers = {
  elicitation: { action: 'accept', content: { name: 'Ada' } },
  sampling: {
    role: 'assistant',
    content: { type: 'text', text: 'Hello!' },
    model: 'test-model',
    stopReason: 'endTurn',
  },
  roots: [{ uri: 'file:///srv/interop', name: 'interop' }],
};

/** A name for a step that a person can find again: the method and what it is about. */
export function labelOf({ method, params }: Step): string {
  const about = params.name ?? params.uri ?? params.level;
  const args = params.arguments === undefined ? '' : ` ${JSON.stringify(params.arguments)}`;
  return `${method}${about === undefined ? '' : ` ${String(about)}`}${args}`;
}
