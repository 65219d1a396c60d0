/**
 * Work that one replica does while all others wait for its result. A rotating refresh token is good for one request,
 * and of two registrations one would be left over.
 */
import { Failure } from '../../errors/failure.ts';
import { credentialLimits } from './limits.ts';
import type { CredentialPorts } from './ports.ts';

type SingleFlightPorts = Pick<CredentialPorts, 'lease' | 'bus' | 'time'>;

export class SingleFlight {
  readonly #outside: SingleFlightPorts;

  constructor(outside: SingleFlightPorts) {
    this.#outside = outside;
  }

  /**
   * `done` returns the result of others, or undefined if the work is still to be done. It is called again once we hold
   * the lease.
   */
  async once<T>(name: string, done: () => Promise<T | undefined>, work: () => Promise<T>): Promise<T> {
    const { lease, bus, time } = this.#outside;
    const deadline = time.now() + credentialLimits.leaseWaitMs;
    for (;;) {
      const before = await done();
      if (before !== undefined) return before;
      const held = await lease.take(`credentials/${name}`, credentialLimits.leaseMs);
      if (held !== undefined) {
        try {
          return (await done()) ?? (await work());
        } finally {
          await held.release();
          await bus.publish(topicOf(name), '');
        }
      }
      if (time.now() >= deadline) throw new Failure('authorization_unavailable');
      await aMoment(this.#outside, topicOf(name), credentialLimits.leasePollMs).over;
    }
  }
}

function topicOf(name: string): string {
  return `credentials/turn/${name}`;
}

interface Moment {
  readonly over: Promise<void>;
  stop(): void;
}

/** Waits for a message on the bus, with a timeout because messages get lost. */
export function aMoment(
  { bus, time }: Pick<CredentialPorts, 'bus' | 'time'>,
  topic: string,
  ms: number,
  signal?: AbortSignal,
): Moment {
  let resolve: () => void;
  const over = new Promise<void>((settle) => {
    resolve = settle;
  });
  const stop = () => {
    stopListening();
    stopWaiting();
    signal?.removeEventListener('abort', stop);
    resolve();
  };
  const stopListening = bus.subscribe(topic, stop);
  const stopWaiting = time.after(Math.max(ms, 0), stop);
  signal?.addEventListener('abort', stop);
  return { over, stop };
}
