/** Waits until a gateway has reached all of its backends. */
import { setTimeout as sleep } from 'node:timers/promises';

const READY_MS = 120_000;
/** Seldom enough that answering does not count, often enough for what takes a second. */
const POLL_MS = 25;

export async function allReady(gateway: URL, count: number): Promise<void> {
  const until = Date.now() + READY_MS;
  for (;;) {
    const { backends } = (await (await fetch(new URL('/readyz', gateway))).json()) as {
      backends: Record<string, object>;
    };
    const ready = Object.values(backends).filter((backend) => 'state' in backend && backend.state === 'ready');
    if (ready.length === count) return;
    if (Date.now() > until) throw new Error(`${ready.length} of ${count} servers are ready`);
    await sleep(POLL_MS);
  }
}
