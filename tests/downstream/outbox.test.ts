/** What becomes of messages whose reader is slow. */
import { describe, expect, it } from 'vitest';
import { Outbox } from '../../src/downstream/outbox.ts';
import type { Connection, StreamEvent, Urgency } from '../../src/exchange/outlet.ts';
import { both, eventually, head, keep, RawClient, RecordingNotes, type StartOptions, start } from './harness.ts';

/** A reader that the test tells when to read. */
class TestOutbox extends Outbox {
  readonly written: string[] = [];
  room = Number.POSITIVE_INFINITY;
  encoded = 0;
  ended: 'finished' | 'destroyed' | undefined;

  take(room = Number.POSITIVE_INFINITY): void {
    this.room = room;
    this.release();
  }

  lose(): void {
    this.close();
  }

  protected encode(event: StreamEvent): Uint8Array {
    this.encoded += 1;
    return event.data;
  }

  protected write(bytes: Uint8Array): boolean {
    this.written.push(Buffer.from(bytes).toString().slice(0, 20));
    this.room -= 1;
    return this.room > 0;
  }

  protected goodbye(retryMs: number | undefined): Uint8Array | undefined {
    return retryMs === undefined ? undefined : Buffer.from(`retry ${retryMs}`);
  }

  protected finish(): void {
    this.ended = 'finished';
    this.close();
  }

  protected destroy(): void {
    this.ended = 'destroyed';
  }
}

const limits = { outboxSoftBytes: 1000, outboxBytes: 10_000 };

function blocked(): { box: TestOutbox; notes: RecordingNotes } {
  const notes = new RecordingNotes();
  const box = new TestOutbox(limits, notes);
  box.room = 1;
  box.send(keep('first'));
  return { box, notes };
}

function event(data: string, urgency: Urgency, key?: string): StreamEvent {
  return { id: undefined, data: Buffer.from(data), urgency, key };
}

describe('an outbox', () => {
  it('passes everything straight on while its reader keeps up', () => {
    const box = new TestOutbox(limits, new RecordingNotes());
    for (const text of ['a', 'b', 'c']) box.send(event(text, 'progress', 'same'));
    expect(box.written).toEqual(['a', 'b', 'c']);
  });

  it('keeps the order of queued messages, and stops again when the reader does', () => {
    const { box } = blocked();
    for (const text of ['a', 'b', 'c']) box.send(keep(text));
    expect(box.written).toEqual(['first']);
    box.take(2);
    expect(box.written).toEqual(['first', 'a', 'b']);
    box.send(keep('d'));
    box.take();
    expect(box.written).toEqual(['first', 'a', 'b', 'c', 'd']);
  });

  it('replaces progress by later progress of the same key, at the end of the queue', () => {
    const { box, notes } = blocked();
    box.send(event('p1', 'progress', 'p'));
    box.send(keep('ask'));
    box.send(event('q1', 'progress', 'q'));
    box.send(event('p2', 'progress', 'p'));
    box.send(event('p3', 'progress', 'p'));
    box.take();
    expect(box.written).toEqual(['first', 'ask', 'q1', 'p3']);
    expect(notes.drops).toEqual(['progress', 'progress']);
    expect(box.encoded).toBe(4);
  });

  it('keeps only the last report of each key', () => {
    const { box, notes } = blocked();
    for (let i = 0; i < 10_000; i++) box.send(event(`p${i}`, 'progress', 'p'));
    box.take();
    expect(box.written).toEqual(['first', 'p9999']);
    expect(notes.cuts).toBe(0);
  });

  it('does not mix up the progress of two times of slowness', () => {
    const { box } = blocked();
    box.send(event('p1', 'progress', 'p'));
    box.take(1);
    box.send(event('p2', 'progress', 'p'));
    box.take();
    expect(box.written).toEqual(['first', 'p1', 'p2']);
  });

  it('drops only log messages and keyless progress above the soft bound', () => {
    const { box, notes } = blocked();
    box.send(event('log kept', 'log'));
    box.send(keep('k'.repeat(1000)));
    box.send(event('log dropped', 'log'));
    box.send(event('progress dropped', 'progress'));
    box.send(event('new key dropped', 'progress', 'p'));
    box.send(keep('last'));
    box.take();
    expect(box.written).toEqual(['first', 'log kept', 'k'.repeat(20), 'last']);
    expect(notes.drops).toEqual(['log', 'progress', 'progress']);
  });

  it('disconnects a reader when the backlog exceeds the limit', () => {
    const { box, notes } = blocked();
    let closed = 0;
    box.onClose(() => (closed += 1));
    for (let i = 0; i < 9; i++) box.send(keep('k'.repeat(1000)));
    expect(box.ended).toBeUndefined();
    box.send(keep('over'));
    expect(box.ended).toBe('destroyed');
    expect(notes.cuts).toBe(1);
    expect(closed).toBe(1);
    box.send(keep('more'));
    box.take();
    expect(box.written).toEqual(['first']);
  });

  it('never finds one message alone too large', () => {
    const { box, notes } = blocked();
    box.send(keep('k'.repeat(50_000)));
    expect(notes.cuts).toBe(0);
    box.take();
    expect(box.written).toHaveLength(2);
  });

  it('no longer counts sent messages', () => {
    const { box, notes } = blocked();
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 8; i++) box.send(keep('k'.repeat(1000)));
      box.take(8);
    }
    expect(notes.cuts).toBe(0);
    expect(box.written).toHaveLength(161);
  });

  it.each([
    { name: 'ends', act: (box: Outbox) => box.end(), last: [] },
    { name: 'sends its last message', act: (box: Outbox) => box.pause(20), last: ['retry 20'] },
    { name: 'pauses without a time', act: (box: Outbox) => box.pause(undefined), last: [] },
  ])('$name after all queued messages, and accepts nothing more', ({ act, last }) => {
    const { box } = blocked();
    box.send(keep('a'));
    act(box);
    box.send(keep('late'));
    expect(box.ended).toBeUndefined();
    box.take();
    expect(box.written).toEqual(['first', 'a', ...last]);
    expect(box.ended).toBe('finished');
  });

  it('sends its last message once, also to a slow reader', () => {
    const { box } = blocked();
    box.pause(20);
    box.take(1);
    expect(box.ended).toBeUndefined();
    box.take();
    expect(box.written).toEqual(['first', 'retry 20']);
    expect(box.ended).toBe('finished');
  });

  it('reports its end once, and immediately if it is already over', () => {
    const box = new TestOutbox(limits, new RecordingNotes());
    const log: string[] = [];
    box.onClose(() => log.push('early'));
    box.lose();
    box.lose();
    box.onClose(() => log.push('late'));
    box.end();
    expect(log).toEqual(['early', 'late']);
  });
});

describe('a stream over a socket', () => {
  async function listening(options: StartOptions = {}) {
    const running = await start(options);
    let connection: Connection | undefined;
    running.gateway.onListen = async (_, open) => {
      connection = open();
      return undefined;
    };
    const client = new RawClient(running.port);
    client.send(head('GET', '/mcp', { Accept: 'text/event-stream' }));
    await client.until('\r\n\r\n');
    return { running, client, connection: connection as unknown as Connection };
  }

  it('sends a slow reader every message that must not be lost, in order', async () => {
    const { client, connection, running } = await listening();
    client.socket.pause();
    const large = 'x'.repeat(100_000);
    // Fill what the system buffers, until the outbox itself holds something.
    let sent = 0;
    while (running.notes.drops.length === 0 && sent < 500) {
      connection.send(keep(`{"n":${sent++},"x":"${large}"}`));
      connection.send(event('"log"', 'log'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(running.notes.drops[0]).toBe('log');
    connection.send(keep('"the end"'));
    connection.end();
    client.socket.resume();
    await client.until('"the end"');
    const numbers = [...client.received.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n));
    expect(numbers).toEqual(Array.from({ length: sent }, (_, n) => n));
  });

  it('disconnects a reader that reads nothing', async () => {
    const { client, connection, running } = await listening();
    client.socket.pause();
    let closed = false;
    connection.onClose(() => {
      closed = true;
    });
    for (let i = 0; i < 2000 && !closed; i++) {
      connection.send(keep(`"${'x'.repeat(100_000)}"`));
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(closed).toBe(true);
    expect(running.notes.cuts).toBe(1);
    client.socket.resume();
    await client.closed;
  });

  it('disconnects a reader that has read nothing for the configured time, without waiting for more output', async () => {
    const limits = { readerStallMs: 10_000, outboxBytes: 100_000_000 };
    const { client, connection, running } = await listening({ limits });
    client.socket.pause();
    let closed = false;
    connection.onClose(() => {
      closed = true;
    });
    for (let i = 0; i < 100; i++) connection.send(keep(`"${'x'.repeat(200_000)}"`));
    // What the system takes for it counts as read: the time begins anew with each piece of that.
    for (let step = 0; step < 20 && !closed; step += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      running.clock.advance(12_000);
    }
    await eventually(() => closed);
    expect(running.notes.cuts).toBe(1);
  });

  it('keeps only an idle stream alive with comments', async () => {
    const { client, connection, running } = await listening();
    running.clock.advance(14_000);
    connection.send(keep('1'));
    await client.until('data: 1\n\n');
    running.clock.advance(14_000);
    expect(client.received).not.toContain('\n:\n');
    running.clock.advance(4000);
    await client.until(/\r\n:\n\n\r\n/);
    running.clock.advance(18_000);
    await client.until(/\r\n:\n\n\r\n[\s\S]*\r\n:\n\n\r\n/);
  });

  it('leaves no timer when it is closed', async () => {
    const { client, connection, running } = await listening();
    connection.end();
    await client.until('0\r\n\r\n');
    let closed = false;
    connection.onClose(() => {
      closed = true;
    });
    await eventually(() => closed);
    running.clock.advance(100_000);
    expect(running.clock.pending).toBe(0);
  });

  it('notices that its reader has disconnected', async () => {
    const { client, connection } = await listening();
    let closed = false;
    connection.onClose(() => {
      closed = true;
    });
    client.socket.destroy();
    await eventually(() => closed);
    connection.send(keep('nobody hears'));
    connection.pause(10);
    connection.end();
  });
});

describe('the outlets of two clients', () => {
  it('do not wait for each other', async () => {
    const running = await start();
    const connections: Connection[] = [];
    running.gateway.onListen = async (_, open) => {
      connections.push(open());
      return undefined;
    };
    const slow = new RawClient(running.port);
    slow.send(head('GET', '/mcp', { Accept: both }));
    await slow.until('\r\n\r\n');
    slow.socket.pause();
    const fast = new RawClient(running.port);
    fast.send(head('GET', '/mcp', { Accept: both }));
    await fast.until('\r\n\r\n');
    for (let i = 0; i < 100; i++) connections[0]?.send(keep(`"${'x'.repeat(50_000)}"`));
    connections[1]?.send(keep('"quick"'));
    await fast.until('"quick"');
  });
});
