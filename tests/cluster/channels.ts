/** Two ends of a channel, as between the primary process and a worker: messages arrive later, and as JSON. */
import type { WorkerChannel } from '../../src/cluster/primary-counts.ts';

export interface TestChannel {
  readonly worker: WorkerChannel;
  readonly primary: WorkerChannel;
  /** From now on, what the worker sends is lost without an error. */
  stall(): void;
}

export function testChannel(): TestChannel {
  const heard = { worker: [] as ((message: unknown) => void)[], primary: [] as ((message: unknown) => void)[] };
  let isStalled = false;
  const end = (own: keyof typeof heard, other: keyof typeof heard): WorkerChannel => ({
    on: (_event, hear) => heard[own].push(hear),
    send: (message, sent) => {
      if (isStalled) return;
      const text = JSON.stringify(message);
      setImmediate(() => {
        for (const hear of heard[other]) hear(JSON.parse(text));
        sent(null);
      });
    },
  });
  return {
    worker: end('worker', 'primary'),
    primary: end('primary', 'worker'),
    stall: () => {
      isStalled = true;
    },
  };
}
