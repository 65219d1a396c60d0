/** Why a backend cannot be reached: what clients are told, and what the people who run the gateway are. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { initialize, modern } from '../harness/eras.ts';
import { type ConfigValue, startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';

function listening(server: ReturnType<typeof createServer>): Promise<number> {
  onTestFinished(() => void server.close());
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'bascule-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

const answering = (answer: (turn: Turn) => void) => async (): Promise<ConfigValue> => {
  const { url } = await legacyBackend({ 'server/discover': answer, initialize: answer });
  return { url, headers: { authorization: 'Bearer our-own-secret-key' } };
};

const json = { 'content-type': 'application/json' };
const causes: readonly {
  readonly name: string;
  readonly backend: () => Promise<ConfigValue>;
  readonly reason?: string;
  /** What a client is told. */
  readonly message: RegExp;
  /** What the log and `/readyz` say besides. */
  readonly cause?: RegExp;
  /** What they say is to be done. */
  readonly cure: RegExp;
}[] = [
  {
    name: 'a refused connection',
    backend: async () => ({ url: `http://127.0.0.1:${await closedPort()}/mcp` }),
    message: /^Backend unavailable: connection refused$/,
    cause: /ECONNREFUSED 127\.0\.0\.1:\d+/,
    cure: /start the server/,
  },
  {
    name: 'an unknown host name',
    backend: async () => ({ url: 'http://nothing.invalid/mcp' }),
    message: /^Backend unavailable: (its host name is unknown|the DNS lookup of its host name failed)$/,
    cause: /nothing\.invalid/,
    cure: /the host in `url`/,
  },
  {
    name: 'a TLS handshake with a server without TLS',
    backend: async () => ({ url: `https://127.0.0.1:${await listening(createServer())}/mcp` }),
    message: /^Backend unavailable: TLS failed$/,
    cure: /needs `https` or `http`/,
  },
  {
    name: 'a TLS server without a certificate that both sides know',
    backend: async () => ({ url: `https://127.0.0.1:${await listening(createTlsServer() as never)}/mcp` }),
    message: /^Backend unavailable: TLS failed$/,
    cure: /NODE_EXTRA_CA_CERTS/,
  },
  {
    name: 'HTTP 401 in spite of our key',
    backend: answering((turn) => turn.raw(401, json, '{"error":"no"}')),
    message: /^Backend unavailable: it refuses the credentials of the gateway \(HTTP 401\)$/,
    cure: /the key or token under `headers`/,
  },
  {
    name: 'HTTP 403',
    backend: answering((turn) => turn.error(-32600, 'Forbidden', undefined, 403)),
    message: /^Backend unavailable: it forbids the gateway access \(HTTP 403\)$/,
    cure: /what the key or account may do/,
  },
  {
    name: 'HTTP 500',
    backend: answering((turn) => turn.raw(500, { 'content-type': 'text/html' }, '<h1>oops</h1>')),
    message: /^Backend unavailable: it answered HTTP 500$/,
    cure: /the log of the server/,
  },
  {
    name: 'HTTP 404',
    backend: async () => {
      const port = await listening(createServer((_request, response) => void response.writeHead(404).end('no')));
      return { url: `http://127.0.0.1:${port}/mpc` };
    },
    reason: 'backend_invalid',
    message: /there is no server at this path \(HTTP 404\)/,
    cure: /the path in `url`/,
  },
  {
    name: 'a redirect',
    backend: answering((turn) => turn.raw(302, { location: 'https://elsewhere.invalid/mcp' }, '')),
    reason: 'backend_invalid',
    message: /Backend answered with a redirect \(302\)/,
    cure: /into `url`/,
  },
  {
    name: 'a web page',
    backend: answering((turn) => turn.raw(200, { 'content-type': 'text/html' }, '<h1>hello</h1>')),
    reason: 'backend_invalid',
    message: /HTTP 200 with neither JSON nor events/,
    cure: /may not be an MCP server/,
  },
  {
    name: 'a command that is not on the PATH',
    backend: async () => ({ command: 'no-such-command-here' }),
    message: /^Backend process cannot be started: command not found$/,
    cause: /`no-such-command-here` is not on the PATH/,
    cure: /install it/,
  },
  {
    name: 'a command that is not there',
    backend: async () => ({ command: '/no/such/command' }),
    message: /^Backend process cannot be started: command not found$/,
    cause: /there is no file \/no\/such\/command/,
    cure: /full path in `command`/,
  },
  {
    name: 'a command that is not executable',
    backend: async () => {
      const file = join(folder(), 'server');
      writeFileSync(file, '#!/bin/sh\n');
      chmodSync(file, 0o644);
      return { command: file };
    },
    message: /^Backend process cannot be started: no permission to execute the command$/,
    cause: /EACCES/,
    cure: /executable/,
  },
  {
    name: 'a working directory that does not exist',
    backend: async () => ({ command: process.execPath, args: ['--version'], cwd: '/no/such/place' }),
    message: /^Backend process cannot be started: its working directory does not exist$/,
    cause: /`cwd` \/no\/such\/place is not a directory/,
    cure: /correct `cwd`/,
  },
  {
    name: 'a crash',
    backend: async () => ({
      command: process.execPath,
      args: ['-e', 'console.error("first\\nno module named x; TOKEN=abc, hunter2-hunter2"); process.exit(7)'],
      env: { PASSWORD: 'hunter2-hunter2' },
    }),
    message: /^Backend process ended without a response \(exit code 7\)$/,
    cause: /^last on stderr: first \| no module named x; TOKEN=\*\*\*, \*\*\*$/,
    cure: /in a terminal/,
  },
  {
    name: 'a signal',
    backend: async () => ({ command: process.execPath, args: ['-e', 'process.kill(process.pid, "SIGKILL")'] }),
    message: /^Backend process ended without a response \(ended by SIGKILL\)$/,
    cause: /^nothing on stderr$/,
    cure: /in a terminal/,
  },
];

async function readyz({ origin }: TestGateway): Promise<{ status: number; body: Json }> {
  const answer = await send(`${origin}/readyz`, { method: 'GET' });
  return { status: answer.status, body: answer.json() };
}

describe('the cause of a dead backend', verifies('gateway:run:cause-named'), () => {
  it.each(causes)('$name is named to clients by its class, and in full to operators', async (row) => {
    const { reason = 'backend_unavailable', message, cause, cure } = row;
    const gateway = await startGateway({ backends: { b: await row.backend() }, limits: { restartMinMs: 1 } });
    const refused = (await send(gateway.url('b'), { body: initialize() })).json().error;
    expect(refused).toMatchObject({ code: -32603, message: expect.stringMatching(message), data: { reason } });
    const again = (await send(gateway.url('b'), modern({ method: 'tools/list' }))).json().error;
    expect(again.message).toMatch(message);
    for (const told of [refused, again]) {
      expect(JSON.stringify(told)).not.toMatch(/127\.0\.0\.1|invalid\/|\/no\/such|stderr|hunter2|secret/);
    }
    const logged = () => gateway.log.find(({ text }) => text.startsWith('backend down'));
    await until(() => logged() !== undefined, 'the log names it');
    expect(logged()).toMatchObject({ level: 'warn', facts: { backend: 'b', reason } });
    const { body, status } = await readyz(gateway);
    expect(status).toBe(503);
    expect(body.backends.b).toMatchObject({ state: 'down', reason, message: expect.stringMatching(message) });
    expect(logged()?.facts.cure).toMatch(cure);
    expect(body.backends.b.cure).toMatch(cure);
    expect(JSON.stringify([refused, again])).not.toMatch(cure);
    if (cause !== undefined) {
      expect(logged()?.facts.cause).toMatch(cause);
      expect(body.backends.b.cause).toMatch(cause);
    }
    expect(JSON.stringify([body, logged()])).not.toMatch(/hunter2|our-own-secret/);
  });
});

describe('/readyz', verifies('gateway:run:ready-when-something-is'), () => {
  const gone = async () => ({ url: `http://127.0.0.1:${await closedPort()}/mcp` });
  const discoverAll = ({ assembled }: TestGateway) =>
    Promise.allSettled([...assembled.backends].map((backend) => backend.discover()));

  it('is 503 while the only backend is being looked for, and 200 once it is found', async () => {
    const backend = await modernBackend();
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    expect(await readyz(gateway)).toMatchObject({ status: 503, body: { status: 'not ready' } });
    await discoverAll(gateway);
    expect(await readyz(gateway)).toMatchObject({ status: 200, body: { status: 'ready' } });
  });

  it('is 200 while one of several backends is down and another hangs', async () => {
    const good = await modernBackend();
    const hung = await legacyProcess({ 'server/discover': () => undefined, initialize: () => undefined });
    const { command, args } = hung;
    const backends = { good: { url: good.url }, gone: await gone(), hung: { command, args } };
    const gateway = await startGateway({ backends });
    for (const name of ['good', 'gone'])
      await gateway.assembled.backends
        .get(name)
        ?.discover()
        .catch(() => undefined);
    void gateway.assembled.backends
      .get('hung')
      ?.discover()
      .catch(() => undefined);
    expect(await readyz(gateway)).toMatchObject({
      status: 200,
      body: { backends: { good: { state: 'ready' }, gone: { state: 'down' }, hung: { state: 'starting' } } },
    });
  });

  it('is 503 when the only backend is down', async () => {
    const gateway = await startGateway({ backends: { b: await gone() } });
    await discoverAll(gateway);
    expect(await readyz(gateway)).toMatchObject({ status: 503, body: { backends: { b: { state: 'down' } } } });
  });
});

describe('a gateway that listens and is not open yet', verifies('gateway:run:starting-503'), () => {
  it('answers 503 with Retry-After at its endpoints and 503 at /readyz, and serves afterwards', async () => {
    const backend = await modernBackend();
    const early: { status: number; retryAfter: unknown; reason?: string }[] = [];
    const told = async (url: string, call: Parameters<typeof send>[1]) => {
      const { status, headers, json: body } = await send(url, call);
      const reason = body().error?.data.reason;
      early.push({ status, retryAfter: headers['retry-after'], ...(reason && { reason }) });
    };
    const gateway = await startGateway(
      { backends: { b: { url: backend.url } } },
      {
        beforeOpen: async (origin) => {
          for (const path of ['/mcp', '/servers/b/mcp']) {
            await told(`${origin}${path}`, { body: initialize() });
            await told(`${origin}${path}`, modern({ method: 'tools/list' }));
          }
          await told(`${origin}/readyz`, { method: 'GET' });
        },
      },
    );
    const starting = { status: 503, retryAfter: '1', reason: 'starting' };
    expect(early).toEqual([...Array(4).fill(starting), { status: 503, retryAfter: undefined }]);
    expect((await send(gateway.url('b'), modern({ method: 'server/discover' }))).status).toBe(200);
    expect((await readyz(gateway)).status).toBe(200);
  });
});

describe('a backend that hangs when it is started', verifies('gateway:run:slow-start-logged'), () => {
  it.each([
    {
      name: 'over stdio',
      start: () => legacyProcess({ 'server/discover': () => undefined, initialize: () => undefined }),
    },
    { name: 'after server/discover', start: () => modernProcess({ 'server/discover': () => undefined }) },
  ])('$name is named in the log after `slowStartMs`', async ({ start }) => {
    const clock = new LeapClock();
    const backend = await start();
    const gateway = await startGateway(
      { backends: { b: { command: backend.command, args: backend.args } } },
      { clock },
    );
    void gateway.assembled.backends
      .get('b')
      ?.discover()
      .catch(() => undefined);
    await backend.arrival('server/discover');
    clock.leap(gateway.config.limits.slowStartMs);
    expect(gateway.log.filter(({ level }) => level === 'warn')).toMatchObject([
      { facts: { backend: 'b' }, text: expect.stringMatching(/has not answered for 10 s/) },
    ]);
  });
});
