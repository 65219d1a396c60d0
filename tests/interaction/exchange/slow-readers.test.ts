/** Clients that read slowly, or not at all, and what becomes of what they should have read. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  behindLegacy,
  behindModern,
  call,
  Held,
  messagesOf,
  notification,
  replay,
  result,
  text,
} from '../harness/behind.ts';
import { type Json, type OpenAnswer, open, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';
import { modernProcess } from '../harness/stdio-backend.ts';

const MiB = 1024 * 1024;
/** The system takes some megabytes for a reader that does not read; pieces of this size fill that soon. */
const bulk = 'x'.repeat(256 * 1024);
/** Everything waits, and nothing is too much. */
const patient = { outboxSoftBytes: 256 * MiB, outboxBytes: 256 * MiB };

const chunk = (n: number) => notification('notifications/example.com/chunk', { n, bulk });
const progress = (token: unknown, step: number) =>
  notification('notifications/progress', { progressToken: token, progress: step });
const log = (n: number) => notification('notifications/message', { level: 'error', data: n });
const done = { resultType: 'complete', ...text('done') };
const logLevel = { 'io.modelcontextprotocol/logLevel': 'debug' };
const counted = (gateway: TestGateway, name: string): number => gateway.counters.snapshot()[name] ?? 0;

/** A message in a word. */
const word = ({ method, params, id }: Json): string => {
  if (method === undefined) return `result ${id}`;
  return `${method.split('/').at(-1)} ${params.n ?? params.progress ?? params.data ?? params.message}`;
};
const words = (stream: OpenAnswer): string[] => messagesOf(stream).map(word);

/** A modern call whose client has stopped to read. */
async function stalled(url: string, held: Held): Promise<{ stream: OpenAnswer; turn: Turn }> {
  const params = { name: 'work' };
  const opening = open(
    url,
    modern({ id: 'c', method: 'tools/call', params, meta: { progressToken: 'p', ...logLevel } }),
  );
  const turn = await held.nth(1);
  turn.stream().event(notification('notifications/example.com/first', {}));
  return { stream: (await opening).stall(), turn };
}

/** Says one thing after the other until something is so; the numbers of what was said. */
async function sayUntil(isSo: () => boolean, say: (n: number) => void): Promise<number[]> {
  const said: number[] = [];
  while (!isSo() && said.length < 1000) {
    say(said.length);
    said.push(said.length);
    // Not as fast as can be: what was said before has to be seen.
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return said;
}

describe('a reader that is slow', () => {
  it('gets everything in the order in which it was sent', verifies('gateway:outbox:ordered'), async () => {
    const held = new Held();
    const { url } = await behindModern({ 'tools/call': held.take }, { limits: patient });
    const { stream, turn } = await stalled(url, held);
    const numbers = Array.from({ length: 64 }, (_, n) => n);
    for (const n of numbers) turn.event(chunk(n)).event(log(n));
    turn.event(result(turn.message.id, done)).end();
    // In several goes.
    for (let go = 0; go < 4; go++) {
      stream.read();
      await stream.event(() => stream.events.length > go * 16);
      stream.stall();
    }
    stream.read();
    await stream.ended;
    expect(words(stream)).toEqual([
      'first undefined',
      ...numbers.flatMap((n) => [`chunk ${n}`, `message ${n}`]),
      'result c',
    ]);
  });

  it(
    'gets the newest progress, where there was more than it could read',
    verifies('gateway:outbox:progress-coalesced'),
    async () => {
      const held = new Held();
      const { url, gateway } = await behindModern({ 'tools/call': held.take }, { limits: patient });
      const { stream, turn } = await stalled(url, held);
      const dropped = () => counted(gateway, 'ingress.dropped.progress');
      const steps = await sayUntil(
        () => dropped() > 0,
        (n) => turn.event(chunk(n)).event(progress(turn.message.id, n)),
      );
      const before = dropped();
      // A burst while it stands still: one remains of it.
      for (let n = 0; n < 500; n++) turn.event(progress(turn.message.id, 1000 + n));
      await until(() => dropped() === before + 500, 'the burst has arrived');
      turn.event(result(turn.message.id, done)).end();
      stream.read();
      await stream.ended;
      const heard = words(stream);
      expect(heard.filter((one) => one.startsWith('chunk'))).toEqual(steps.map((n) => `chunk ${n}`));
      expect(heard.slice(-2)).toEqual(['progress 1499', 'result c']);
      const reports = heard.filter((one) => one.startsWith('progress'));
      expect(reports).toHaveLength(steps.length + 500 - dropped());
      expect(counted(gateway, 'ingress.dropped.log')).toBe(0);
      expect(counted(gateway, 'ingress.cut_off')).toBe(0);
    },
  );

  it(
    'does not get log messages for which there is no room, and they are counted',
    verifies('gateway:outbox:logs-dropped'),
    async () => {
      const held = new Held();
      const limits = { outboxSoftBytes: 64 * 1024, outboxBytes: 256 * MiB };
      const { url, gateway } = await behindModern({ 'tools/call': held.take }, { limits });
      const { stream, turn } = await stalled(url, held);
      const dropped = () => counted(gateway, 'ingress.dropped.log');
      const said = await sayUntil(
        () => dropped() > 0,
        (n) => turn.event(chunk(n)).event(log(n)),
      );
      for (let n = 0; n < 100; n++) turn.event(log(1000 + n));
      await until(() => dropped() >= 100, 'the log messages have arrived');
      turn.event(result(turn.message.id, done)).end();
      stream.read();
      await stream.ended;
      const heard = words(stream);
      expect(heard.filter((one) => one.startsWith('chunk'))).toEqual(said.map((n) => `chunk ${n}`));
      expect(heard.at(-1)).toBe('result c');
      const logged = heard.filter((one) => one.startsWith('message'));
      expect(logged).toHaveLength(said.length + 100 - dropped());
      expect(logged).toEqual(said.slice(0, logged.length).map((n) => `message ${n}`));
    },
  );

  it('gets every server request and every result', verifies('gateway:outbox:never-dropped'), async () => {
    const held = new Held();
    const limits = { outboxSoftBytes: 64 * 1024, outboxBytes: 256 * MiB, eventBytesPerStream: 256 * MiB };
    const { url, gateway } = await behindLegacy({ 'tools/call': held.take }, { limits });
    const client = await connectLegacy(url, { capabilities: { elicitation: {} } });
    const opening = client.stream(call('c', {}, { progressToken: 'p' }));
    const turn = await held.nth(1);
    turn.stream().event(notification('notifications/example.com/first', {}));
    const stream = (await opening).stall();
    const asking = (n: number) => ({
      jsonrpc: '2.0',
      id: `q${n}`,
      method: 'elicitation/create',
      params: { message: n, requestedSchema: {} },
    });
    const dropped = () => counted(gateway, 'ingress.dropped.log');
    const chunks = await sayUntil(
      () => dropped() > 0,
      (n) => turn.event(chunk(n)).event(log(n)),
    );
    // Questions between things that are left out.
    const questions = Array.from({ length: 20 }, (_, n) => n);
    const before = dropped();
    for (const n of questions)
      turn
        .event(log(1000 + n))
        .event(asking(n))
        .event(progress(turn.message.id, n));
    await until(() => dropped() === before + questions.length, 'the questions have arrived');
    stream.read();
    await stream.message(({ params }) => params?.message === questions.at(-1));
    turn.event(result(turn.message.id, text('done'))).end();
    await stream.ended;
    const heard = words(stream);
    expect(heard.filter((one) => one.startsWith('create'))).toEqual(questions.map((n) => `create ${n}`));
    expect(heard.filter((one) => one.startsWith('chunk'))).toEqual(chunks.map((n) => `chunk ${n}`));
    expect(heard.at(-1)).toBe('result c');
  });
});

describe('a reader that reads nothing', () => {
  const limits = { outboxSoftBytes: MiB, outboxBytes: MiB, eventBytesPerStream: 256 * MiB, eventsPerStream: 10_000 };

  it('is cut off, and its call with it in the modern era', verifies('gateway:outbox:reader-cut-off'), async () => {
    const held = new Held();
    const { url, gateway } = await behindModern({ 'tools/call': held.take }, { limits });
    const { stream, turn } = await stalled(url, held);
    const said = await sayUntil(
      () => counted(gateway, 'ingress.cut_off') > 0,
      (n) => turn.event(chunk(n)),
    );
    await turn.closed;
    stream.read();
    await stream.ended;
    expect(stream.complete).toBe(false);
    const heard = words(stream).slice(1);
    expect(heard.length).toBeLessThan(said.length);
    expect(heard).toEqual(said.slice(0, heard.length).map((n) => `chunk ${n}`));
    expect(counted(gateway, 'ingress.cut_off')).toBe(1);
  });

  it.each([
    { name: 'with the limits that there are by default', set: {} },
    { name: 'with an outbox that is smaller than the missed messages', set: limits },
  ])(
    'is disconnected, and resumes in the legacy era: $name',
    verifies('gateway:outbox:reader-cut-off'),
    async ({ set }) => {
      const held = new Held();
      const { url, gateway } = await behindLegacy({ 'tools/call': held.take }, { limits: set });
      const client = await connectLegacy(url);
      const opening = client.stream(call('c'));
      const turn = await held.nth(1);
      turn.stream().event(chunk(-1));
      const stream = (await opening).stall();
      const said = await sayUntil(
        () => counted(gateway, 'ingress.cut_off') > 0,
        (n) => turn.event(chunk(n)),
      );
      stream.read();
      await stream.ended;
      expect(stream.complete).toBe(false);
      // The call goes on without it.
      turn
        .event(chunk(said.length))
        .event(result(turn.message.id, text('done')))
        .end();
      const rest = await replay(client, stream.events.at(-1)?.id);
      await rest.ended;
      const all = [...words(stream), ...words(rest)];
      expect(all).toEqual(['chunk -1', ...said.map((n) => `chunk ${n}`), `chunk ${said.length}`, 'result c']);
      expect(words(rest).length).toBeGreaterThan(1);
    },
  );
});

describe('a client that reads nothing', verifies('gateway:outbox:backend-not-stalled'), () => {
  it('does not stall the others on the one pipe of a process', async () => {
    const backend = await modernProcess({
      'tools/call': (turn) => {
        if (turn.message.params.name !== 'flood')
          turn.result({ resultType: 'complete', ...text(turn.message.params.name) });
      },
    });
    const { command, args } = backend;
    // Logs are left out as soon as it stands, so it is never cut off: it is there, and in nobody's way.
    const limits = { outboxSoftBytes: 1024, outboxBytes: 256 * MiB };
    const gateway = await startGateway({ backends: { b: { command, args } }, limits });
    const url = gateway.url('b');
    const opening = open(url, modern({ id: 'slow', method: 'tools/call', params: { name: 'flood' }, meta: logLevel }));
    const flood = await backend.arrival('tools/call');
    const say = (n: number) => flood.notify('notifications/message', { level: 'error', data: `${n} ${bulk}` });
    say(0);
    const stream = (await opening).stall();
    const answered = async (name: string) => {
      const answer = await send(url, modern({ id: name, method: 'tools/call', params: { name } }));
      expect(answer.json()).toEqual(result(name, { resultType: 'complete', ...text(name) }));
    };
    const said = await sayUntil(() => counted(gateway, 'ingress.dropped.log') > 0, say);
    for (let n = 0; n < 20; n++) {
      say(said.length + n);
      await answered(`quick ${n}`);
    }
    expect(stream.over).toBe(false);
    flood.result({ resultType: 'complete', ...text('flood') });
    stream.read();
    await stream.ended;
    expect(messagesOf(stream).at(-1)).toEqual(result('slow', { resultType: 'complete', ...text('flood') }));
  });

  it('does not stall the others of an HTTP backend', async () => {
    const held = new Held();
    const { url, gateway } = await behindModern(
      { 'tools/call': held.take, 'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }) },
      { limits: { outboxSoftBytes: 1024, outboxBytes: 256 * MiB } },
    );
    const { stream, turn } = await stalled(url, held);
    await sayUntil(
      () => counted(gateway, 'ingress.dropped.log') > 0,
      (n) => turn.event(chunk(n)).event(log(n)),
    );
    for (let n = 0; n < 20; n++) {
      turn.event(chunk(1000 + n));
      const answer = await send(url, modern({ id: n, method: 'tools/list' }));
      expect(answer.json()).toMatchObject({ id: n, result: { tools: [] } });
    }
    expect(stream.over).toBe(false);
  });
});
