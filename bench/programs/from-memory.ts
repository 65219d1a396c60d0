/**
 * The floor for an answer that a gateway has already: a bare node:http server that looks up what was sent and writes
 * the bytes that belong to it. What it does not have yet it gets, once, from the address in its first argument, so that
 * its bytes are the gateway's own.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gather, serve } from './server.ts';

const source = process.argv[2] as string;
const answers = new Map<string, Buffer>();

/** What the gateway wants to know of a request. */
const relayed = ['accept', 'content-type', 'mcp-protocol-version', 'mcp-method'] as const;

async function learn(request: IncomingMessage, question: string): Promise<Buffer> {
  const headers = Object.fromEntries(relayed.map((name) => [name, String(request.headers[name])]));
  const answer = await fetch(source, { method: 'POST', headers, body: question });
  if (!answer.ok) throw new Error(`no answer to remember, but ${answer.status}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  answers.set(question, bytes);
  return bytes;
}

function send(response: ServerResponse, bytes: Buffer): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

serve((request, response) => {
  gather(request, (body) => {
    const question = body.toString('latin1');
    const known = answers.get(question);
    if (known !== undefined) send(response, known);
    else
      learn(request, question).then(
        (bytes) => send(response, bytes),
        () => void response.destroy(),
      );
  });
});
