/** Several principals at one backend: one alone may use all that it is given at once; with others it shares in turn. */
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { request, text } from '../harness/behind.ts';
import { type Answer, type Headers, type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { type ConfigValue, type Ports, startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { legacyProcess, modernProcess } from '../harness/stdio-backend.ts';
import { launchService } from '../json-rpc/setup.ts';
import { answered } from './setup.ts';

/** A call that waits at the backend until the test answers it. */
interface Waiting {
  readonly mark: string;
  answer(): void;
}

interface Place {
  readonly backend: ConfigValue;
  readonly waiting: Waiting[];
}

const limits = { callsPerBackend: 2, queuedPerBackend: 4 };
const listed = { tools: [{ name: 'work', inputSchema: { type: 'object' } }] };
const whole = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'public' };

const markOf = (message: Json): string => message.params.arguments.mark;

/** Backends of every kind that all principals share a way to. */
const kinds: Readonly<Record<string, () => Promise<Place>>> = {
  'a modern HTTP backend': async () => {
    const waiting: Waiting[] = [];
    const backend = await modernBackend({
      'tools/list': (turn) => turn.result({ ...whole, ...listed }),
      'tools/call': (turn) =>
        waiting.push({
          mark: markOf(turn.message),
          answer: () => turn.result({ resultType: 'complete', ...text('done') }),
        }),
    });
    return { waiting, backend: { url: backend.url } };
  },
  'a legacy HTTP backend': async () => {
    const waiting: Waiting[] = [];
    const backend = await legacyBackend({
      'tools/list': (turn) => turn.result(listed),
      'tools/call': (turn) => waiting.push({ mark: markOf(turn.message), answer: () => turn.result(text('done')) }),
    });
    return { waiting, backend: { url: backend.url } };
  },
  'a modern process': async () => {
    const waiting: Waiting[] = [];
    const { command, args } = await modernProcess({
      'tools/list': (turn) => turn.result({ ...whole, ...listed }),
      'tools/call': (turn) =>
        waiting.push({
          mark: markOf(turn.message),
          answer: () => turn.result({ resultType: 'complete', ...text('done') }),
        }),
    });
    return { waiting, backend: { command, args } };
  },
  'a legacy process for everybody': async () => {
    const waiting: Waiting[] = [];
    const { command, args } = await legacyProcess({
      'tools/list': (turn) => turn.result(listed),
      'tools/call': (turn) => waiting.push({ mark: markOf(turn.message), answer: () => turn.result(text('done')) }),
    });
    return { waiting, backend: { command, args, share: true } };
  },
};

const kindNames = Object.keys(kinds);

async function shared(kind: string, more: Readonly<Record<string, number>> = {}, ports: Ports = {}) {
  const { backend, waiting } = await (kinds[kind] as () => Promise<Place>)();
  const ring = keyRing();
  const keys: Record<string, Headers> = { alice: bearer(ring.make('alice')), bob: bearer(ring.make('bob')) };
  const gateway = await startGateway(
    { backends: { b: backend }, identity: { keys: { file: ring.path } }, limits: { ...limits, ...more } },
    ports,
  );
  const url = gateway.url('b');
  // Each has called before: what the gateway has to know of tools for each of them is known.
  for (const headers of Object.values(keys)) {
    const first = send(url, asModern('first', headers));
    await arrived(waiting, 1);
    waiting.pop()?.answer();
    await first;
  }
  return { waiting, keys, url };
}

/** The calls that are at the backend, once there are so many of them. */
async function arrived(waiting: readonly Waiting[], many: number): Promise<readonly string[]> {
  await until(() => waiting.length >= many, `${many} calls are at the backend`);
  return waiting.map(({ mark }) => mark);
}

const asModern = (mark: string, headers: Headers = {}) =>
  modern({ id: mark, method: 'tools/call', params: { name: 'work', arguments: { mark } }, headers });

const called = (mark: string) => request(mark, 'tools/call', { name: 'work', arguments: { mark } });

describe.each(kindNames)('%s', (kind) => {
  it(
    'may all be used by one principal; another principal takes a place in the queue, and is served fairly',
    verifies('gateway:backend:fair-calls'),
    async () => {
      const { waiting, keys, url } = await shared(kind);
      const answers: Json[] = [];
      const marks = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'];
      const all = marks.map((mark) =>
        send(url, asModern(mark, keys.alice)).then((answer) => answers.push(answered(answer))),
      );
      // Two are at the backend, four wait, one is refused.
      await until(() => answers.length === 1, 'one is refused');
      expect(answers[0]?.error.data.reason).toBe('backend_busy');
      const served = send(url, asModern('b1', keys.bob));
      // Bob takes the place of the last of Alice's.
      await until(() => answers.length === 2, 'another one is refused');
      expect(answers[1]?.error.data.reason).toBe('backend_busy');
      const more = send(url, asModern('a8', keys.alice));
      expect(answered(await more).error.data.reason).toBe('backend_busy');
      for (let n = 0; n < 6; n++) {
        await arrived(waiting, Math.min(6, n + 2));
        waiting[n]?.answer();
      }
      expect(answered(await served).result.content).toEqual(text('done').content);
      await Promise.all(all);
      // Two were there already, and one of Alice's was next.
      expect(waiting[3]?.mark).toBe('b1');
    },
  );

  it('are not held by calls whose session has ended', verifies('gateway:backend:queue-left'), async () => {
    const { waiting, keys, url } = await shared(kind, { sseAfterMs: 0 });
    const [staying, leaving] = [await connectLegacy(url, {}, keys.alice), await connectLegacy(url, {}, keys.alice)];
    const held = [await staying.stream(called('a1')), await staying.stream(called('a2'))];
    await arrived(waiting, 2);
    for (const mark of ['a3', 'a4', 'a5', 'a6']) await leaving.stream(called(mark));
    await leaving.end();
    const served = send(url, asModern('b1', keys.bob));
    waiting[0]?.answer();
    expect((await arrived(waiting, 3))[2]).toBe('b1');
    waiting[1]?.answer();
    waiting[2]?.answer();
    expect(answered(await served).result.content).toEqual(text('done').content);
    for (const stream of held) await stream.ended;
    expect(waiting).toHaveLength(3);
  });

  it('is not waited for beyond the limit', verifies('gateway:backend:fair-calls'), async () => {
    const clock = new LeapClock();
    const { waiting, keys, url } = await shared(kind, {}, { clock });
    const held = ['a1', 'a2'].map((mark) => send(url, asModern(mark, keys.alice)));
    await arrived(waiting, 2);
    let refused: Answer | undefined;
    void send(url, asModern('b1', keys.bob)).then((answer) => {
      refused = answer;
    });
    const isRefused = () => {
      clock.leap(1_000);
      return refused !== undefined;
    };
    await until(isRefused, 'it is refused');
    expect(answered(refused as Answer).error.data.reason).toBe('backend_busy');
    for (const one of waiting) one.answer();
    await Promise.all(held);
  });
});

it('a JSON-RPC service is shared fairly', verifies('gateway:backend:fair-calls'), async () => {
  const waiting: Waiting[] = [];
  const service = await launchService(({ text: body, response }) => {
    const { id, params } = JSON.parse(body);
    const answer = () =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result: params.mark }));
    waiting.push({ mark: params.mark, answer });
  });
  onTestFinished(() => service.close());
  const ring = keyRing();
  const [alice, bob] = [bearer(ring.make('alice')), bearer(ring.make('bob'))];
  const gateway = await startGateway({
    backends: { ledger: { protocol: 'json-rpc', url: service.url } },
    endpoints: [{ path: '/rpc', protocol: 'json-rpc', backends: ['ledger'] }],
    identity: { keys: { file: ring.path } },
    limits,
  });
  const answers: Json[] = [];
  const ask = (mark: string, headers: Headers) =>
    send(`${gateway.origin}/rpc`, {
      body: { jsonrpc: '2.0', id: mark, method: 'add', params: { mark } },
      headers,
    }).then((answer) => answers.push(answer.json()));
  const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'].map((mark) => ask(mark, alice));
  await until(() => answers.length === 1, 'one is refused');
  expect(answers[0]?.error.data.reason).toBe('backend_busy');
  const served = ask('b1', bob);
  await until(() => answers.length === 2, 'another one is refused');
  expect(answers[1]?.error.data.reason).toBe('backend_busy');
  for (let n = 0; n < 6; n++) {
    await arrived(waiting, Math.min(6, n + 2));
    waiting[n]?.answer();
  }
  await Promise.all([served, ...all]);
  expect(waiting.map(({ mark }) => mark).indexOf('b1')).toBeLessThanOrEqual(3);
});

it(
  'requests of one connection beyond the limit are rejected, and those before them are served',
  verifies('gateway:front:pipelining'),
  async () => {
    const backend = await modernBackend({
      'tools/list': (turn) => turn.result({ ...whole, ...listed }),
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }),
    });
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: { requestsPerConnection: 3 } });
    const url = new URL(gateway.url('b'));
    await send(url.href, asModern('warm'));
    const post = (mark: string): string => {
      const call = asModern(mark);
      const body = JSON.stringify(call.body);
      const headers = { ...call.headers, host: url.host, accept: 'application/json, text/event-stream' };
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
      const length = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`;
      return `POST ${url.pathname} HTTP/1.1\r\n${lines.join('')}${length}\r\n${body}`;
    };
    const socket = connect(Number(url.port), url.hostname);
    onTestFinished(() => void socket.destroy());
    let heard = '';
    socket.on('data', (chunk) => {
      heard += chunk;
    });
    socket.write(['p1', 'p2', 'p3', 'p4', 'p5'].map(post).join(''));
    const statuses = () => [...heard.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
    await until(() => statuses().length === 5, 'all are answered');
    expect(statuses()).toEqual([200, 200, 200, 429, 429]);
  },
);
