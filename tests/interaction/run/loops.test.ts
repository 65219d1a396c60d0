/** Backends that lead back to the gateway over other gateways, and gateways that start themselves. */
import { describe, expect, inject, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { breakable } from '../backend/breakable-backend.ts';
import { open, send, until } from '../harness/client.ts';
import { connectLegacy, initialize, modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type ScriptedBackend } from '../harness/http-backend.ts';
import { configFile, run, serve, start } from '../harness/program.ts';

/** Loops are found by looking again, at these pauses. */
const limits = { restartMinMs: 20, restartMaxMs: 60, probeMs: 1_000, firstByteMs: 1_000, discoverWaitMs: 100 };

/** How one gateway reaches the next. */
interface Way {
  readonly name: string;
  to(origin: string): object;
}

const ways: readonly Way[] = [
  { name: 'modern, Streamable HTTP', to: (origin) => ({ url: `${origin}/mcp` }) },
  {
    name: 'legacy, Streamable HTTP',
    to: (origin) => ({ url: `${origin}/mcp`, profile: { revisions: ['2025-11-25'] } }),
  },
  { name: 'legacy, HTTP+SSE', to: (origin) => ({ url: `${origin}/sse`, transport: 'sse' }) },
];

const tool = { name: 'work', inputSchema: { type: 'object' } };
const leadsBack = /it leads back to this gateway/;

async function server(): Promise<object> {
  const { url } = await modernBackend({
    'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [tool], ttlMs: 0 }),
  });
  return { url };
}

/**
 * A gateway for each place, each with a server of its own and the next gateway as backends; the last one leads to the
 * first.
 */
async function ring(size: number, way: Way): Promise<readonly TestGateway[]> {
  const good = await server();
  const gateways: TestGateway[] = [];
  while (gateways.length < size) gateways.push(await startGateway({ limits, backends: { good } }));
  close(gateways, (origin) => ({ good, next: way.to(origin) }));
  return gateways;
}

function close(gateways: readonly TestGateway[], backends: (next: string) => object): void {
  for (const [place, gateway] of gateways.entries()) {
    const { origin } = gateways[(place + 1) % gateways.length] as TestGateway;
    gateway.reload({ limits, backends: backends(origin) });
    lookAt(gateway);
  }
}

/** As `bascule serve` does with every backend when it starts. */
function lookAt({ assembled }: TestGateway): void {
  for (const backend of assembled.backends) backend.discover().catch(() => undefined);
}

function stateOf({ assembled }: TestGateway, backend = 'next') {
  return assembled.backends.get(backend)?.state;
}

function failureOf(gateway: TestGateway): { message?: string; cure?: string | undefined } {
  const state = stateOf(gateway);
  return state?.state === 'down' ? state.failure : {};
}

function looping(gateways: readonly TestGateway[]): readonly TestGateway[] {
  return gateways.filter((gateway) => leadsBack.test(failureOf(gateway).message ?? ''));
}

/** One of them leaves the ring, and the others find nothing wrong with it any more. */
async function broken(gateways: readonly TestGateway[]): Promise<TestGateway> {
  const ready = () => gateways.filter((gateway) => stateOf(gateway)?.state === 'ready');
  await until(
    () => looping(gateways).length === 1 && ready().length === gateways.length - 1,
    'one of the backends leads back, and the others are ready',
  );
  return looping(gateways)[0] as TestGateway;
}

describe('gateways that are backends of each other', verifies('gateway:run:not-its-own-backend'), () => {
  for (const way of ways) {
    it.each([2, 3])(
      `are %i: one backend is down with cause and cure, the rest is served (${way.name})`,
      async (size) => {
        const gateway = await broken(await ring(size, way));
        expect(failureOf(gateway).cure).toMatch(/remove one of them from the config/);
        const refused = (await send(gateway.url('next'), { body: initialize() })).json();
        expect(refused.error).toMatchObject({
          message: expect.stringMatching(leadsBack),
          data: { reason: 'backend_unavailable' },
        });
        const { result } = (await send(gateway.url(), modern({ method: 'tools/list' }))).json();
        expect(result.tools).toEqual([expect.objectContaining({ name: 'good__work' })]);
      },
    );
  }

  it.each(ways)('reach each other again once the loop is mended ($name)', async (way) => {
    const gateways = await ring(2, way);
    const gateway = await broken(gateways);
    const other = gateways.find((one) => one !== gateway) as TestGateway;
    other.reload({ limits, backends: { good: await server() } });
    await until(() => stateOf(gateway)?.state === 'ready', 'the backend is ready');
  });

  it.each(ways)('have no other backend: the loop is named all the same ($name)', async (way) => {
    const gateways = await ring(2, way);
    close(gateways, (origin) => ({ next: way.to(origin) }));
    await until(() => looping(gateways).length > 0, 'a backend leads back');
  });

  it.each(ways)('are no loop where each has a single server of the other ($name)', async (way) => {
    const gateways = await ring(2, way);
    await broken(gateways);
    const good = await server();
    close(gateways, (origin) => ({ good, next: way.to(`${origin}/servers/good`) }));
    const isReady = (gateway: TestGateway) => stateOf(gateway)?.state === 'ready';
    await until(() => gateways.every(isReady), 'both backends are ready');
  });
});

describe('the header by which gateways detect loops', verifies('gateway:run:not-its-own-backend'), () => {
  const id = 'x'.repeat(32);
  const openings = [
    { name: 'server/discover', call: modern({ method: 'server/discover' }) },
    { name: 'initialize', call: { body: initialize() } },
  ];

  it.each(openings)('is in the response to $name of a gateway, and of no other server', async ({ call }) => {
    const gateway = await startGateway({ limits, backends: { good: await server() } });
    const answer = async (via: object) =>
      (await send(gateway.url(), { ...call, headers: { ...call.headers, ...via } })).headers['bascule-via'];
    expect(await answer({ 'bascule-via': id })).toMatch(/^[\w-]{32}$/);
    expect(await answer({})).toBeUndefined();
    expect(await answer({ 'bascule-via': 'no id of ours' })).toBeUndefined();
  });

  it('passes on the gateways that a legacy session came by, and names this one', async () => {
    const backend = await legacyBackend();
    const gateway = await startGateway({ limits, backends: { only: { url: backend.url } } });
    const client = await connectLegacy(gateway.url('only'), {}, { 'bascule-via': id });
    await client.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const marks = backend.of('initialize').map(({ headers }) => headers['bascule-via']);
    expect(marks.at(-1)).toMatch(new RegExp(`^[\\w-]{32}, ${id}$`));
  });

  it('is in no answer to other requests', async () => {
    const gateway = await startGateway({ limits, backends: { good: await server() } });
    const call = modern({ method: 'tools/list', headers: { 'bascule-via': id } });
    expect((await send(gateway.url(), call)).headers).not.toHaveProperty('bascule-via');
  });

  it('is on the HTTP+SSE stream of a gateway, and of no other server', async () => {
    const gateway = await startGateway({ limits, backends: { good: await server() } });
    const headersFor = async (via: object) => {
      const stream = await open(`${gateway.origin}/sse`, { method: 'GET', headers: { ...via } });
      return stream.headers['bascule-via'];
    };
    expect(await headersFor({ 'bascule-via': id })).toMatch(/^[\w-]{32}$/);
    expect(await headersFor({})).toBeUndefined();
  });
});

describe('a backend over HTTP+SSE that leads straight back', verifies('gateway:run:not-its-own-backend'), () => {
  it('is down with a named cause', async () => {
    const good = await server();
    const gateway = await startGateway({ limits, backends: { good } });
    const around = await breakable({ url: gateway.origin } as ScriptedBackend);
    const { origin } = new URL(around.url);
    gateway.reload({ limits, backends: { good, next: { url: `${origin}/sse`, transport: 'sse' } } });
    lookAt(gateway);
    await until(() => looping([gateway]).length === 1, 'the backend leads back');
  });
});

describe('a gateway that is started by a gateway', verifies('gateway:run:not-its-own-backend'), () => {
  const gatewayOn = (...args: string[]) => ({ command: process.execPath, args: [inject('executable'), ...args] });
  const link = (letter: string) => `${letter.repeat(32)}:${'0'.repeat(32)}`;

  it.each(['stdio', 'serve'])(
    'with the same config refuses to start, and the log of the outer gateway says why (%s)',
    async (command) => {
      const self = gatewayOn(command, './bascule.yaml');
      const { program } = await serve(
        [],
        configFile({ backends: { self }, listen: { port: 0 }, log: { format: 'json' } }),
      );
      await until(() => /backend down/.test(program.stderr), 'the backend is down');
      const line = program.stderr.split('\n').find((text) => text.includes('backend down')) ?? '';
      expect(JSON.parse(line)).toMatchObject({
        backend: 'self',
        cause: expect.stringMatching(/already served by a gateway that started this process.*Remove the backend/),
      });
    },
  );

  it('is rejected below eight others, in one line', async () => {
    const env = { BASCULE_VIA: [...'abcdefgh'].map(link).join(',') };
    const { exit, stdout, stderr } = await run(['stdio'], { env });
    expect(exit.code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^8 gateways have started each other.*remove it from its config.*\n$/);
  });

  it('with another config is served', async () => {
    const files = {
      'bascule.yaml': JSON.stringify({ backends: { inner: gatewayOn('stdio', 'inner.yaml') } }),
      'inner.yaml': JSON.stringify({ backends: { good: await server() } }),
    };
    const { url } = await serve([], { files });
    const answer = await send(url('inner'), modern({ method: 'tools/list' }));
    // It is a stream where the process takes its time to start.
    expect(answer.body).toContain('"tools":[{"name":"work"');
  });

  it('does not take the outer one as a backend', async () => {
    const free = await modernBackend();
    await free.close();
    const { port } = new URL(free.url);
    const files = {
      'bascule.yaml': JSON.stringify({ backends: { inner: gatewayOn('stdio', 'inner.yaml'), good: await server() } }),
      'inner.yaml': JSON.stringify({ backends: { outer: { url: `http://127.0.0.1:${port}/mcp` } } }),
    };
    const program = start(['serve', '--port', port, '--log-level', 'debug'], { files });
    await until(() => leadsBack.test(program.stderr), 'the inner one finds that its backend leads back');
  });
});
