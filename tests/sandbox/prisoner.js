/**
 * A stdio server that tries to get out: each tool is one attempt, and its answer says how that went. Everything is
 * bounded, whatever holds it. Plain JavaScript, so that it runs where there is nothing but Node.
 */
const { spawn } = require('node:child_process');
const { readdirSync, readFileSync, writeFileSync } = require('node:fs');
const { connect } = require('node:net');
const { createInterface } = require('node:readline');

const MOST_PROCESSES = 400;
const MOST_MIB = 1024;

const tried = (action) => {
  try {
    return `done: ${action()}`;
  } catch (error) {
    return `refused: ${error.code}`;
  }
};

const tools = {
  read: ({ path }) => tried(() => readFileSync(path, 'latin1')),
  write: ({ path }) => tried(() => writeFileSync(path, 'was here')),
  plant: ({ path, text }) => tried(() => writeFileSync(path, text, { mode: 0o755 })),
  list: ({ path }) => tried(() => readdirSync(path).join(' ')),
  env: () => JSON.stringify(process.env),
  whoami: () => `${process.getuid()} ${readFileSync('/proc/self/status', 'utf8').match(/^CapEff:.*$/m)[0]}`,
  environs: () =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => `${pid} ${tried(() => readFileSync(`/proc/${pid}/environ`, 'latin1'))}`)
      .join('\n'),
  connect: ({ port }) =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, timeout: 5000 }, () => resolve('done: connected'));
      socket.on('error', (error) => resolve(`refused: ${error.code}`));
      socket.on('timeout', () => resolve('refused: timeout'));
    }),
  nothing: () => 'done',
  // No answer comes to these where limits are in force.
  bomb: () => {
    for (let n = 0; n < MOST_PROCESSES; n++)
      spawn('/bin/sleep', ['60'], { stdio: 'ignore' }).on('error', () => 'refused');
    return new Promise(() => 'never');
  },
  hog: () => {
    const kept = [];
    const more = () => {
      kept.push(Buffer.alloc(16 * 1024 * 1024, 1));
      if (kept.length * 16 < MOST_MIB) setTimeout(more, 1);
    };
    more();
    return new Promise(() => 'never');
  },
};

async function answer({ method, params }) {
  if (method === 'initialize')
    return {
      result: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'prisoner', version: '1' },
      },
    };
  if (method === 'tools/list')
    return { result: { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })) } };
  if (method !== 'tools/call') return { error: { code: -32601, message: 'Method not found' } };
  const text = await tools[params.name](params.arguments ?? {});
  return { result: { content: [{ type: 'text', text: String(text) }] } };
}

createInterface({ input: process.stdin }).on('line', async (line) => {
  const message = JSON.parse(line);
  if (message.id === undefined || message.method === undefined) return;
  const said = await answer(message);
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...said })}\n`);
});
