import { afterEach, describe, expect, it } from 'vitest';
import type { Channel } from '../../../src/upstream/channel.ts';
import { StdioChannel } from '../../../src/upstream/stdio/channel.ts';
import { Child } from '../../../src/upstream/stdio/child.ts';
import { realClock } from '../support/clock.ts';
import { anyFlood, isRunning, node } from '../support/processes.ts';
import { ChannelRecorder, NotesRecorder, RequestRecorder, text } from '../support/recorders.ts';

const limits = { lineBytes: 4096, stderrBytes: 2048, childStopMs: 150, stdinBytes: 64 * 1024 };
const open: { child: Child; channel: StdioChannel }[] = [];
afterEach(async () => {
  for (const { child, channel } of open.splice(0)) {
    await channel.close();
    expect(isRunning(child.pid)).toBe(false);
  }
});

/** A server that runs the method of each request as a program. */
const server = `
  const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, result } = JSON.parse(line);
    if (method !== undefined) eval(method); else say({ method: 'heard ' + JSON.stringify(result) });
  }).on('close', () => process.exit());
`;

async function connect() {
  const notes = new NotesRecorder();
  const child = await Child.start({ command: node(server), limits, flood: anyFlood(), clock: realClock, notes });
  const sink = new ChannelRecorder();
  const channel = new StdioChannel({ child, sink, notes });
  open.push({ child, channel });
  const call = (id: number, method: string) => {
    const recorder = new RequestRecorder();
    const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, method }, null, 1));
    return { recorder, pending: channel.request({ bytes, id: `n${id}`, headers: {} }, recorder) };
  };
  return { child, channel, sink, notes, call };
}

describe('a channel over a process', () => {
  it('finds the request of each answer by its id, in any order', async () => {
    const { call } = await connect();
    const first = call(1, 'global.first = id');
    const second = call(2, 'say({ id, result: {} }); say({ id: first, error: { code: 1, message: "no" } })');
    expect(await first.recorder.settled()).toBe('answered');
    expect(await second.recorder.settled()).toBe('answered');
    expect(first.recorder.response?.kind).toBe('error');
    expect(first.recorder.http).toBeUndefined();
  });

  it('reports requests and notifications as strays', async () => {
    const { call, sink } = await connect();
    call(1, 'say({ method: "notifications/progress" }); say({ id: 1, method: "ping" })');
    await sink.until(() => sink.strays.length === 2);
    expect(sink.strays).toEqual(['notifications/progress', 'ping']);
  });

  it('drops and counts unexpected responses: unknown, duplicate, without id, of another type', async () => {
    const { call, notes } = await connect();
    const { recorder } = call(
      1,
      `say({ id: 9, result: {} }); say({ id: '1', result: {} }); say({ error: { code: 1, message: '' } });
       say({ id, result: {} }); say({ id, result: {} }); console.log('done')`.replaceAll('\n', ' '),
    );
    await notes.until(() => notes.of('stdout').includes('done'));
    expect(recorder.endings).toEqual(['answered']);
    expect(notes.of('unknown_id')).toHaveLength(4);
  });

  it('delivers nothing more of a request that was aborted', async () => {
    const { call, notes } = await connect();
    const { pending, recorder } = call(1, 'say({ id, result: {} })');
    pending.abort();
    await notes.until(() => notes.of('unknown_id').length === 1);
    expect(recorder.endings).toEqual([]);
  });

  it('hands over notifications and answers', async () => {
    const { channel, sink } = await connect();
    await channel.post(Buffer.from('{"jsonrpc":"2.0","id":5,"result":{"a":\n1}}'), {});
    await sink.until(() => sink.strays.length === 1);
    expect(sink.strays).toEqual(['heard {"a":1}']);
  });

  it('fails requests in flight when the process exits, and then reports the loss', async () => {
    const { call, sink, channel } = await connect();
    const waiting = call(1, '0');
    const answered = call(2, 'say({ id, result: {} }); process.exit(7)');
    const order: string[] = [];
    void waiting.recorder.settled().then(() => order.push('failed'));
    await sink.until(() => sink.losses.length === 1);
    expect(waiting.recorder.endings).toEqual(['failed backend_unavailable']);
    expect(answered.recorder.endings).toEqual(['answered']);
    expect(sink.losses[0]).toBe(waiting.recorder.failure);
    expect(sink.losses[0]?.cause).toMatchObject({ code: 7 });
    const late = call(3, '0');
    expect(late.recorder.endings).toEqual([]);
    expect(await late.recorder.settled()).toBe('failed backend_unavailable');
    await expect(channel.post(Buffer.from('{}'), {})).rejects.toMatchObject({ reason: 'backend_unavailable' });
  });

  it('fails the one request that waits when its answer is too large', async () => {
    const { call } = await connect();
    const { recorder } = call(1, 'say({ id, result: { x: "y".repeat(100000) } })');
    expect(await recorder.settled()).toBe('failed backend_too_large');
    const next = call(2, 'say({ id, result: {} })');
    expect(await next.recorder.settled()).toBe('answered');
  });

  it('fails requests in flight when it is closed, and reports no loss', async () => {
    const { call, sink, channel, child } = await connect();
    const { recorder } = call(1, '0');
    await channel.close();
    expect(recorder.endings).toEqual(['failed backend_unavailable']);
    expect(sink.losses).toEqual([]);
    expect(isRunning(child.pid)).toBe(false);
  });

  it('returns bytes as they were written', async () => {
    const { call } = await connect();
    const { recorder } = call(
      1,
      `process.stdout.write('{ "id":1, "jsonrpc":"2.0","result":{"n":1.0, "u":"\\\\u00fc"} }\\n')`,
    );
    await recorder.settled();
    expect(recorder.response && text(recorder.response)).toBe(
      '{ "id":1, "jsonrpc":"2.0","result":{"n":1.0, "u":"\\u00fc"} }',
    );
  });

  it('does not wait if a process has neither streams nor sessions to forget', async () => {
    const { channel } = await connect();
    const { forget, listen }: Channel = channel;
    expect([forget, listen]).toEqual([undefined, undefined]);
    expect(channel.streamPerRequest).toBe(false);
  });
});
