/** A load balancer that knows nothing: each request goes to the next of its targets. Closed when the test is over. */
import { Agent, createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Passed {
  /** Which of the targets got it. */
  readonly target: number;
  /** What a modern request says of itself in its headers. */
  readonly method: string | undefined;
}

export interface RoundRobin {
  readonly origin: string;
  /** In order. */
  readonly passed: readonly Passed[];
}

export async function startRoundRobin(targets: readonly string[]): Promise<RoundRobin> {
  const passed: Passed[] = [];
  const agent = new Agent({ keepAlive: true });
  const forward = (incoming: IncomingMessage, response: ServerResponse) => {
    const target = passed.length % targets.length;
    passed.push({ target, method: incoming.headers['mcp-method']?.toString() });
    const { host } = new URL(targets[target] ?? '');
    const outgoing = httpRequest(new URL(incoming.url ?? '/', targets[target]), {
      agent,
      method: incoming.method ?? 'GET',
      headers: { ...incoming.headers, host },
    });
    outgoing.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.on('error', () => response.destroy()).pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    response.on('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const server = createServer(forward);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    agent.destroy();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, passed };
}
