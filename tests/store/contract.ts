/** What every implementation of the stores has to pass. */
import { describe, expect, it } from 'vitest';
import type { Bus, EventLog, Lease } from '../../src/store/ports.ts';
import { verifies } from '../requirements/verifies.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);

export function eventLogContract(
  name: string,
  create: (limits: { events: number; bytes: number }) => EventLog | Promise<EventLog>,
): void {
  describe(`${name}: event log`, verifies('gateway:store:contract'), () => {
    const fill = async (log: EventLog, stream: string, count: number) => {
      for (let sequence = 1; sequence <= count; sequence++)
        await log.append(stream, { sequence, data: bytes(`e${sequence}`) });
    };
    const after = async (log: EventLog, stream: string, sequence: number) =>
      (await log.after(stream, sequence))?.map((event) => text(event.data));

    it('replays later events, in order', async () => {
      const log = await create({ events: 10, bytes: 1000 });
      await fill(log, 'a', 4);
      expect(await after(log, 'a', 2)).toEqual(['e3', 'e4']);
      expect(await after(log, 'a', 0)).toEqual(['e1', 'e2', 'e3', 'e4']);
      expect(await after(log, 'a', 4)).toEqual([]);
    });

    it('keeps streams apart', async () => {
      const log = await create({ events: 10, bytes: 1000 });
      await fill(log, 'a', 1);
      await log.append('b', { sequence: 1, data: bytes('other') });
      expect(await after(log, 'a', 0)).toEqual(['e1']);
      expect(await after(log, 'b', 0)).toEqual(['other']);
    });

    it('refuses to replay a stream that it does not know or has dropped', async () => {
      const log = await create({ events: 10, bytes: 1000 });
      await fill(log, 'a', 1);
      await log.drop('a');
      expect(await after(log, 'a', 0)).toBeUndefined();
      expect(await after(log, 'never', 0)).toBeUndefined();
    });

    it('keeps the newest events within its bounds, and refuses to replay over a gap', async () => {
      const byCount = await create({ events: 3, bytes: 1000 });
      await fill(byCount, 'a', 5);
      expect(await after(byCount, 'a', 1)).toBeUndefined();
      expect(await after(byCount, 'a', 2)).toEqual(['e3', 'e4', 'e5']);
      const byBytes = await create({ events: 100, bytes: 4 });
      await fill(byBytes, 'a', 5);
      expect(await after(byBytes, 'a', 2)).toBeUndefined();
      expect(await after(byBytes, 'a', 3)).toEqual(['e4', 'e5']);
    });
  });
}

export function busContract(name: string, create: () => Bus | Promise<Bus>): void {
  describe(`${name}: bus`, verifies('gateway:store:bus'), () => {
    it('notifies every listener of a topic, the sender included, in order', async () => {
      const bus = await create();
      const heard: string[] = [];
      bus.subscribe('t', (message) => heard.push(`1:${message}`));
      bus.subscribe('t', (message) => heard.push(`2:${message}`));
      await bus.publish('t', 'a');
      await bus.publish('t', 'b');
      expect(heard).toEqual(['1:a', '2:a', '1:b', '2:b']);
    });

    it('does not notify listeners of other topics, or after they stopped listening', async () => {
      const bus = await create();
      const heard: string[] = [];
      const stop = bus.subscribe('t', (message) => heard.push(message));
      await bus.publish('other', 'x');
      stop();
      await bus.publish('t', 'y');
      expect(heard).toEqual([]);
    });
  });
}

/** `elapsed`: waits for the clock of a store that does not use ours. */
export function leaseContract(
  name: string,
  create: (now: () => number) => Lease | Promise<Lease>,
  elapsed: (ms: number) => Promise<void> = async () => undefined,
): void {
  describe(`${name}: lease`, verifies('gateway:store:lease'), () => {
    const start = async () => {
      let now = 0;
      const lease = await create(() => now);
      const pass = async (ms: number) => {
        now += ms;
        await elapsed(ms);
      };
      return { lease, pass };
    };

    it('has one holder at a time', async () => {
      const { lease } = await start();
      const takers = await Promise.all([lease.take('a', 1000), lease.take('a', 1000), lease.take('b', 1000)]);
      expect(takers.map((held) => held !== undefined)).toEqual([true, false, true]);
    });

    it('can be acquired again once it was released or has expired', async () => {
      const { lease, pass } = await start();
      const first = await lease.take('a', 1000);
      await first?.release();
      const second = await lease.take('a', 10);
      expect(second).toBeDefined();
      await pass(10);
      expect(await lease.take('a', 10)).toBeDefined();
    });

    it('is not released by a holder that has lost it', async () => {
      const { lease, pass } = await start();
      const lost = await lease.take('a', 10);
      await pass(20);
      await lease.take('a', 60_000);
      await lost?.release();
      expect(await lease.take('a', 10)).toBeUndefined();
    });
  });
}
