import { PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { serveStdio } from '../../src/downstream/stdio.ts';
import { Failure } from '../../src/errors/failure.ts';
import { endpoint, eventually, FakeGateway, keep, note, ping, RecordingNotes } from './harness.ts';

const limits = { bodyBytes: 1000, jsonDepth: 128, outboxSoftBytes: 1000, outboxBytes: 10_000 };

function serve(output: Writable = new PassThrough(), signal?: AbortSignal) {
  const input = new PassThrough();
  const gateway = new FakeGateway();
  const notes = new RecordingNotes();
  const done = serveStdio({
    input,
    output,
    gateway,
    endpoint,
    limits,
    notes,
    ...(signal === undefined ? {} : { signal }),
  });
  const connection = () => {
    const [connected] = gateway.connected;
    if (connected === undefined) throw new Error('not connected');
    return connected.connection;
  };
  return { input, output, gateway, notes, done, connection, line: gateway.line };
}

function text(output: Writable): string {
  return output instanceof PassThrough ? (output.read() ?? '').toString() : '';
}

describe('stdio in', () => {
  it('hands each line to the gateway, however the input is chunked', async () => {
    const { input, line, gateway, done } = serve();
    const bytes = Buffer.from(`${ping}\n\r\n${note}\r\n[${ping}]\n${ping}`);
    for (const byte of bytes) input.write(Buffer.from([byte]));
    input.end();
    await done;
    expect(line.received.map(({ kind }) => kind)).toEqual(['request', 'notification', 'batch', 'request']);
    expect(gateway.connected[0]).toMatchObject({ via: 'stdio', sender: { credentials: 'local' }, endpoint });
  });

  it.each([
    { name: 'no JSON', bad: '{"jsonrpc"', code: -32700, id: undefined },
    { name: 'no message', bad: '{"a":1}', code: -32600, id: undefined },
    { name: 'an ambiguous request', bad: '{"jsonrpc":"2.0","id":"q","method":"m","x":1,"x":2}', code: -32600, id: 'q' },
    { name: 'a line over the limit', bad: `"${'x'.repeat(2000)}"`, code: -32600, id: undefined },
  ])('answers $name and continues with the next line', async ({ bad, code, id }) => {
    const { input, output, line, done } = serve();
    input.end(`${bad}\n${ping}\n`);
    await done;
    expect(line.received).toHaveLength(1);
    const answers = text(output).trim().split('\n');
    expect(answers).toHaveLength(1);
    const answer = JSON.parse(answers[0] ?? '');
    expect(answer.error.code).toBe(code);
    expect(answer.id).toBe(id);
  });

  it('writes one line per message, whatever its formatting', async () => {
    const { input, output, connection, done } = serve();
    await Promise.resolve();
    connection().send(keep('{\n  "a": 1\r\n}'));
    connection().send(keep('{"b":2}'));
    connection().pause(10);
    connection().send(keep('{"c":3}'));
    input.end();
    await done;
    const lines = text(output).split('\n');
    expect(lines.map((line) => (line === '' ? undefined : JSON.parse(line)))).toEqual([
      { a: 1 },
      { b: 2 },
      { c: 3 },
      undefined,
    ]);
  });

  it('closes the connection once when the input ends, after the last messages', async () => {
    const { input, output, line, connection, done } = serve();
    line.close = () => {
      line.closes += 1;
      connection().send(keep('"goodbye"'));
    };
    input.end();
    await done;
    expect(line.closes).toBe(1);
    expect(text(output)).toBe('"goodbye"\n');
  });

  it('ends when it is closed', async () => {
    const stop = new AbortController();
    const { input, line, done } = serve(new PassThrough(), stop.signal);
    input.write(`${ping}\n`);
    await eventually(() => line.received.length === 1);
    stop.abort();
    await done;
    expect(line.closes).toBe(1);
    expect(input.listenerCount('data')).toBe(0);
  });

  it('ends when the gateway ends the connection', async () => {
    const { line, connection, done } = serve();
    await Promise.resolve();
    connection().end();
    await done;
    expect(line.closes).toBe(1);
  });

  it('survives a reader that disconnected', async () => {
    const broken = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
    });
    const { line, connection, done } = serve(broken);
    await Promise.resolve();
    connection().send(keep('1'));
    await done;
    expect(line.closes).toBe(1);
    connection().send(keep('2'));
  });

  it('survives an input that fails', async () => {
    const { input, line, done } = serve();
    await Promise.resolve();
    input.destroy(new Error('gone'));
    await done;
    expect(line.closes).toBe(1);
  });

  it('waits for a slow reader within bounds, then cuts it off', async () => {
    const taken: (() => void)[] = [];
    const slow = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void taken.push(done) });
    const { line, notes, connection, done } = serve(slow);
    await Promise.resolve();
    for (let i = 0; i < 10; i++) connection().send(keep(`"${'x'.repeat(1000)}"`));
    expect(notes.cuts).toBe(0);
    expect(taken).toHaveLength(1);
    taken[0]?.();
    await eventually(() => taken.length === 2);
    for (let i = 0; i < 10; i++) connection().send(keep(`"${'x'.repeat(1000)}"`));
    await done;
    expect(notes.cuts).toBe(1);
    expect(line.closes).toBe(1);
  });

  it('reports why the gateway rejected the connection', async () => {
    const input = new PassThrough();
    const gateway = new FakeGateway();
    const failure = new Failure('shutting_down');
    gateway.onConnect = async () => failure;
    const notes = new RecordingNotes();
    await expect(serveStdio({ input, output: new PassThrough(), gateway, endpoint, limits, notes })).rejects.toBe(
      failure,
    );
  });

  it('survives a connection handler that throws', async () => {
    const { input, output, line, notes, done } = serve();
    line.onReceive = () => {
      throw new Error('secret');
    };
    input.end(`${ping}\n`);
    await done;
    expect(notes.faults).toHaveLength(1);
    expect(text(output)).not.toContain('secret');
  });
});
