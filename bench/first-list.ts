/**
 * `npm run bench:first-list`: the first `tools/list` of a new legacy session in front of 37 stdio servers, once all of
 * them are ready, beside the list of the slowest of them without the gateway. Ends with status 1 where it takes more
 * than 1.5 times as long, or where a tool is missing. Needs a built gateway (`npm run build`).
 */
import { spawn } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { buildPrograms, programPath } from './build.ts';
import { serve } from './contestants/bascule.ts';
import { Connection } from './load/connection.ts';
import { allReady } from './load/ready.ts';
import { legacyRequest, legacyRevision } from './load/requests.ts';
import { openSession } from './load/session.ts';
import { median } from './stats.ts';

const SERVERS = 37;
const TOOLS = SERVERS * 5;
/** Each server is as much slower than the one before. */
const STEP_MS = 25;
const SESSIONS = 5;
const MOST = 1.5;

const delayOf = (at: number) => (at + 1) * STEP_MS;

/** How long the slowest server takes by itself, once it has been initialized. */
async function withoutGateway(): Promise<number> {
  const server = spawn(process.execPath, [programPath('slow-list'), String(delayOf(SERVERS - 1))]);
  const answers = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const ask = async (message: object): Promise<number> => {
    const start = performance.now();
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })}\n`);
    await answers.next();
    return performance.now() - start;
  };
  await ask({ method: 'initialize', params: { protocolVersion: legacyRevision, capabilities: {} } });
  const took: number[] = [];
  for (let n = 0; n < SESSIONS; n++) took.push(await ask({ method: 'tools/list' }));
  server.kill();
  return median(took);
}

/** All pages of one new session. */
async function firstList(url: URL): Promise<number> {
  const connection = await Connection.open(url);
  try {
    const session = await openSession(url, connection);
    const start = performance.now();
    let cursor: string | undefined;
    let count = 0;
    do {
      const call = { method: 'tools/list', ...(cursor !== undefined && { cursor }) };
      const { body } = await connection.ask(legacyRequest(url, session, 1, call));
      const { result } = JSON.parse(body.toString()) as { result: { tools: object[]; nextCursor?: string } };
      count += result.tools.length;
      cursor = result.nextCursor;
    } while (cursor !== undefined);
    if (count !== TOOLS) throw new Error(`${count} of ${TOOLS} tools were listed`);
    return performance.now() - start;
  } finally {
    connection.close();
  }
}

async function main(): Promise<number> {
  await buildPrograms();
  const alone = await withoutGateway();
  const mcpServers = Object.fromEntries(
    Array.from({ length: SERVERS }, (_, at) => [
      `s${at}`,
      { command: process.execPath, args: [programPath('slow-list'), String(delayOf(at))] },
    ]),
  );
  const gateway = await serve({ mcpServers }, 'mcp.json', []);
  try {
    const url = new URL('/mcp', gateway.said);
    await allReady(url, SERVERS);
    const took: number[] = [];
    for (let n = 0; n < SESSIONS; n++) took.push(await firstList(url));
    const [first = Number.NaN] = took;
    const ratio = first / alone;
    const all = took.map((ms) => ms.toFixed(0)).join(', ');
    console.log(`the slowest server by itself ${alone.toFixed(0)} ms; first lists of new sessions ${all} ms`);
    console.log(`${ratio <= MOST ? 'ok    ' : 'MISSED'} the first: ${ratio.toFixed(2)} times (target ${MOST})`);
    return ratio <= MOST ? 0 : 1;
  } finally {
    await gateway.stop();
  }
}

process.exitCode = await main();
