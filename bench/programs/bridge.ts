/**
 * The floor for a gateway in front of a stdio backend: node:http in, one line out, one line back. Nothing is parsed;
 * answers are matched by order alone, which holds because the bench's backend answers in the order of the questions.
 * Arguments: the backend's program and its era.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { gather, openStream, serve } from './server.ts';

const NEWLINE = Buffer.from('\n');
const child = spawn(process.execPath, process.argv.slice(2), { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting: ServerResponse[] = [];
let pieces: Buffer[] = [];

child.on('exit', () => process.exit(1));
child.stdout.on('data', (chunk: Buffer) => {
  let start = 0;
  for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
    pieces.push(chunk.subarray(start, end));
    const line = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
    pieces = [];
    start = end + 1;
    answer(line);
  }
  if (start < chunk.length) pieces.push(chunk.subarray(start));
});

function answer(line: Buffer): void {
  const response = waiting.shift();
  response?.writeHead(200, { 'content-type': 'application/json', 'content-length': line.length });
  response?.end(line);
}

/** Notifications get no line back. The bench's own carry no id at all, so a look for the member is enough. */
const ID = Buffer.from('"id":');

serve((request, response) => {
  if (request.method === 'GET') return openStream(response);
  gather(request, (body) => {
    child.stdin.cork();
    child.stdin.write(body);
    child.stdin.write(NEWLINE);
    child.stdin.uncork();
    if (!body.includes(ID)) {
      response.writeHead(202, { 'content-length': 0 });
      response.end();
      return;
    }
    // Of all that comes, only `initialize` names neither a method nor a session in its headers.
    const { headers } = request;
    if (headers['mcp-method'] === undefined && headers['mcp-session-id'] === undefined) {
      response.setHeader('mcp-session-id', randomUUID());
    }
    waiting.push(response);
  });
});
