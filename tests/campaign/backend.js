// A backend of the campaign, as a process of its own so that it can be killed and stopped.
// Usage: node backend.js <modern|legacy> <http port | stdio> <port of the campaign>
// Tells the campaign, over a socket, which tokens it has done the work of.
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';

const [era, where, reportPort] = process.argv.slice(2);
const report = connect(Number(reportPort), '127.0.0.1');
report.on('error', () => process.exit(1));
report.on('close', () => process.exit(0));

const info = { name: `campaign-${era}`, version: '1' };
const capabilities = { tools: { listChanged: true }, logging: {} };
const tools = ['echo', 'slow', 'progress', 'ask', 'large'].map((name) => ({ name, inputSchema: { type: 'object' } }));
const complete = (result) => (era === 'modern' ? { resultType: 'complete', ...result } : result);
const text = (token, size = 0) => complete({ content: [{ type: 'text', text: token + ' '.repeat(size) }] });
const form = (token) => ({
  mode: 'form',
  message: `For ${token}`,
  requestedSchema: { type: 'object', properties: { token: { type: 'string' } } },
});

const housekeeping = {
  'server/discover': () =>
    era === 'modern' && {
      supportedVersions: ['2026-07-28'],
      capabilities,
      serverInfo: info,
      ttlMs: 0,
      cacheScope: 'private',
    },
  initialize: ({ protocolVersion }) => era === 'legacy' && { protocolVersion, capabilities, serverInfo: info },
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'logging/setLevel': () => ({}),
};

let asked = 0;
const questions = new Map();

/** `send` writes a message to where this request came from, `done` is its last one. */
function handle(message, send, done) {
  if (message.method === undefined) {
    questions.get(message.id)?.(message);
    questions.delete(message.id);
    return;
  }
  const { id, method, params = {} } = message;
  if (id === undefined) return;
  const own = housekeeping[method];
  if (own !== undefined) {
    const result = own(params);
    done(
      result
        ? { jsonrpc: '2.0', id, result: complete(result) }
        : { jsonrpc: '2.0', id, error: { code: -32601, message: 'No' } },
    );
    return;
  }
  if (method !== 'tools/call') {
    done({ jsonrpc: '2.0', id, error: { code: -32601, message: 'No' } });
    return;
  }
  const token = params.arguments?.token ?? '';
  const answer = (result) => done({ jsonrpc: '2.0', id, result });
  const work = () => report.write(`${token}\n`);
  if (params.name === 'ask') return ask(params, token, send, answer, work);
  work();
  if (params.name === 'slow') return void setTimeout(() => answer(text(token)), 200 + Math.random() * 800);
  if (params.name === 'large') return answer(text(token, 300_000));
  if (params.name === 'progress') {
    const progressToken = params._meta?.progressToken;
    for (let progress = 1; progressToken !== undefined && progress <= 5; progress++)
      send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, total: 5 } });
  }
  answer(text(token));
}

/** A form in the middle of a call: by its own request in one era, by another round in the other. */
function ask(params, token, send, answer, work) {
  if (era === 'modern') {
    const given = params.inputResponses?.form?.content?.token;
    if (params.inputResponses === undefined)
      answer({
        resultType: 'input_required',
        inputRequests: { form: { method: 'elicitation/create', params: form(token) } },
        requestState: token,
      });
    else {
      work();
      answer(text(given ?? token));
    }
    return;
  }
  const question = `q${++asked}-${process.pid}`;
  questions.set(question, ({ result }) => {
    work();
    answer(text(result?.content?.token ?? token));
  });
  send({ jsonrpc: '2.0', id: question, method: 'elicitation/create', params: form(token) });
}

function serveStdio() {
  const send = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
  createInterface({ input: process.stdin })
    .on('line', (line) => handle(JSON.parse(line), send, send))
    .on('close', () => process.exit(0));
}

function serveHttp() {
  const streams = new Set();
  createServer((request, response) => {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    if (request.method === 'GET' && era === 'legacy') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      streams.add(response);
      response.on('close', () => streams.delete(response));
      return;
    }
    if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 204 : 405).end();
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const message = JSON.parse(Buffer.concat(chunks).toString());
      const session =
        message.method === 'initialize' && era === 'legacy' ? { 'mcp-session-id': crypto.randomUUID() } : {};
      if (message.id === undefined || message.method === undefined) {
        handle(message);
        return void response.writeHead(202).end();
      }
      let streaming = false;
      const send = (event) => {
        if (!streaming) response.writeHead(200, { 'content-type': 'text/event-stream', ...session });
        streaming = true;
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      };
      const done = (event) => {
        if (streaming) {
          send(event);
          return void response.end();
        }
        response.writeHead(200, { 'content-type': 'application/json', ...session }).end(JSON.stringify(event));
      };
      handle(message, send, done);
    });
  }).listen(Number(where), '127.0.0.1');
  // A flood of news, on order.
  process.on('SIGUSR2', () => {
    for (const stream of streams)
      for (let n = 0; n < 500; n++)
        stream.write(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`);
  });
}

if (where === 'stdio') serveStdio();
else serveHttp();
