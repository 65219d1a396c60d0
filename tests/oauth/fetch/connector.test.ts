/** Connections whose peer leaves while the answer is paused. */
import { type AddressInfo, createServer } from 'node:net';
import { Pool } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createConnector } from '../../../src/oauth/fetch/connector.ts';
import { verifies } from '../../requirements/verifies.ts';

const framings = { chunked: 'transfer-encoding: chunked\r\n', length: 'content-length: 1000\r\n', eof: '' };
const connections = { close: 'connection: close\r\n', keepAlive: 'connection: keep-alive\r\n', unsaid: '' };

const heads = ['1.1', '1.0'].flatMap((version) =>
  Object.entries(framings).flatMap(([framing, header]) =>
    Object.entries(connections).map(([connection, other]) => ({
      name: `HTTP/${version}, ${framing}, connection ${connection}`,
      head: `HTTP/${version} 200 OK\r\n${header}${other}\r\n`,
      body: framing === 'chunked' ? '1\r\nx\r\n' : 'x',
    })),
  ),
);

describe.each(['FIN', 'RST'] as const)('a response whose peer disconnects with %s while it is paused', (how) => {
  it.each(heads)('ends with an error ($name)', verifies('gateway:backend:flood-left'), async ({ head, body }) => {
    let leave = (): unknown => undefined;
    const server = createServer((socket) => {
      leave = () => (how === 'FIN' ? socket.end() : socket.resetAndDestroy());
      socket.on('error', () => undefined).once('data', () => socket.write(head + body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
      connect: createConnector({}),
    });
    onTestFinished(async () => {
      await pool.destroy();
      server.close();
    });
    const error = await new Promise<Error>((resolve, reject) => {
      pool.dispatch(
        { method: 'GET', path: '/' },
        {
          onRequestStart: () => undefined,
          onResponseData: (controller) => {
            controller.pause();
            leave();
            // Later than the end is seen: what is left of the framing is read then.
            setTimeout(() => controller.resume(), 50);
          },
          onResponseEnd: () => reject(new Error('it ended as if it were whole')),
          onResponseError: (_controller, failed) => resolve(failed),
        },
      );
    });
    expect(error).toBeInstanceOf(Error);
  });
});
