/**
 * A stdio server that answers what it has to, and otherwise says all that nobody asked for, as fast as the pipes take
 * it: answers to unknown requests, progress of unknown calls, requests, log messages, and lines on stderr.
 */
import { onLine } from './stdin-lines.ts';

const SAID = Buffer.from(
  [
    { id: 'nobody', result: {} },
    { method: 'notifications/progress', params: { progressToken: 'nobody', progress: 1 } },
    { id: 'ask', method: 'roots/list' },
    { method: 'notifications/message', params: { level: 'info', data: 'and so on' } },
    { method: 'notifications/tools/list_changed' },
  ]
    .map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    .join('')
    .repeat(20),
);
const COMPLAINT = Buffer.from('something is wrong, and goes on being wrong\n'.repeat(50));

const answers: Readonly<Record<string, (params: { protocolVersion?: string }) => object>> = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true }, logging: {} },
    serverInfo: { name: 'flooding', version: '1' },
  }),
  ping: () => ({}),
  'logging/setLevel': () => ({}),
  'tools/list': () => ({ tools: [{ name: 'flood', inputSchema: { type: 'object' } }] }),
};

function answer(line: string): void {
  const { id, method, params = {} } = JSON.parse(line) as { id?: unknown; method?: string; params?: object };
  if (id === undefined || method === undefined) return;
  const result = answers[method]?.(params);
  const said = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`);
}

onLine(answer);

function pour(into: NodeJS.WriteStream, what: Buffer): void {
  const more = (): void => {
    if (into.write(what)) setImmediate(more);
    else into.once('drain', more);
  };
  more();
}

pour(process.stdout, SAID);
pour(process.stderr, COMPLAINT);
