/** What clients do, as a table. Each row is played by clients of all revisions at backends of all revisions. */
import { methods } from '../../src/wire/methods.ts';
import { uri } from './behaviour.ts';
import type { Client, Operation } from './clients.ts';

export interface OperationRow extends Operation {
  readonly kind: string;
  readonly name: string;
  /** For clients of one era alone; without it for both. */
  readonly era?: 'legacy' | 'modern';
}

const tool = (name: string, more: Partial<OperationRow> = {}): OperationRow => ({
  ...{ kind: 'tool call', name: `tool ${name}`, method: 'tools/call', params: { name, arguments: { a: 1 } } },
  ...more,
});
const logLevel = { 'io.modelcontextprotocol/logLevel': 'warning' };

export const operations: readonly OperationRow[] = [
  { kind: 'list', name: 'tools', method: 'tools/list' },
  { kind: 'list', name: 'tools, a cursor that nobody gave', method: 'tools/list', params: { cursor: 'x' } },
  { kind: 'list', name: 'prompts', method: 'prompts/list' },
  { kind: 'list', name: 'resources', method: 'resources/list' },
  { kind: 'list', name: 'templates', method: 'resources/templates/list', params: {} },
  tool('echo'),
  tool('echo', { name: 'no arguments', params: { name: 'echo' } }),
  tool('echo', { name: 'names that are none', params: { name: 'no_such_tool', arguments: {} } }),
  tool('echo', { name: 'text beyond ASCII', params: { name: 'echo', arguments: { é: '\u{1f600}"\\' } } }),
  tool('fail'),
  tool('error'),
  tool('structured'),
  tool('listed'),
  tool('media'),
  tool('unknown_member'),
  { kind: 'log', name: 'level', method: 'logging/setLevel', params: { level: 'info' }, era: 'legacy' },
  tool('progress', { kind: 'progress', meta: { progressToken: 'p-1' }, era: 'legacy' }),
  tool('progress', { kind: 'progress', meta: { progressToken: 7, ...logLevel }, era: 'modern' }),
  tool('progress', { kind: 'log', name: 'no progress token' }),
  ...['elicit', 'url', 'sample', 'roots', 'two', 'thrice', 'twins'].map((name) =>
    tool(name, { kind: 'server request' }),
  ),
  tool('visit', { kind: 'server request' }),
  ...['garbage', 'both', 'scalar'].map((name) => tool(name, { kind: 'broken answer' })),
  { kind: 'prompt', name: 'get', method: 'prompts/get', params: { name: 'greet', arguments: { who: 'Ada' } } },
  { kind: 'resource', name: 'read', method: 'resources/read', params: { uri } },
  { kind: 'resource', name: 'read what is missing', method: 'resources/read', params: { uri: 'demo://missing' } },
  { kind: 'subscription', name: 'subscribe', method: 'resources/subscribe', params: { uri }, era: 'legacy' },
  tool('changed', { kind: 'list change' }),
  { kind: 'subscription', name: 'unsubscribe', method: 'resources/unsubscribe', params: { uri }, era: 'legacy' },
  {
    ...{ kind: 'completion', name: 'of a prompt', method: 'completion/complete' },
    params: { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'A' } },
  },
  { kind: 'list', name: 'tools again', method: 'tools/list' },
];

/** Requests that carry nothing: every method that the gateway knows, and some that it does not. */
export const everyMethod: readonly { readonly method: string; readonly isRequest: boolean }[] = [
  ...methods.flatMap(({ method, kind }) => [
    { method, isRequest: kind === 'request' },
    // A request that should be a notification, and the other way round.
    { method, isRequest: kind !== 'request' },
  ]),
  ...['tools/CALL', 'example/unknown', 'rpc.discover', ''].map((method) => ({ method, isRequest: true })),
].filter(({ method, isRequest }) => !(isRequest && ['initialize', 'subscriptions/listen'].includes(method)));

/** Where answers come as lines or events of one stream, one that cannot be read belongs to no call. */
export function readable(transport: string): (row: OperationRow) => boolean {
  const unread = transport === 'sse' ? /./ : transport === 'stdio' ? /garbage/ : /^$/;
  return ({ kind, name }) => kind !== 'broken answer' || !unread.test(name);
}

export async function playAll(client: Client, rows: readonly OperationRow[] = operations): Promise<void> {
  for (const { era, kind, name, ...operation } of rows)
    if (era === undefined || era === client.era) await client.request(kind, name, operation);
}
