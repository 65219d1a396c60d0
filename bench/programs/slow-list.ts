/** A legacy stdio server that takes a while to list its tools: `node slow-list.js <milliseconds>`. */
import { onLine } from './stdin-lines.ts';

const delayMs = Number(process.argv[2] ?? 0);

const tools = Array.from({ length: 5 }, (_, at) => ({ name: `tool_${at}`, inputSchema: { type: 'object' } }));

function answer(line: string): void {
  const { id, method, params } = JSON.parse(line) as {
    id?: unknown;
    method?: string;
    params?: { protocolVersion?: string };
  };
  if (id === undefined || method === undefined) return;
  const say = (said: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`);
  if (method === 'tools/list') setTimeout(() => say({ result: { tools } }), delayMs);
  else if (method === 'ping') say({ result: {} });
  else if (method === 'initialize') {
    const serverInfo = { name: 'slow-list', version: '1' };
    say({ result: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo } });
  } else say({ error: { code: -32601, message: 'Method not found' } });
}

onLine(answer);
