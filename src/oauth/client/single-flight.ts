/**
 * Work that must be done once, by whichever replica comes first, while all the others wait for what it comes to: a
 * refresh token that rotates is good for one request, and of two registrations one would be litter.
 */
import { Failure } from '../../errors/failure.ts';
import { credentialLimits } from './limits.ts';
import { aMoment } from './moment.ts';
import type { CredentialPorts } from './ports.ts';

type SingleFlightPorts = Pick<CredentialPorts, 'lease' | 'bus' | 'time'>;

export class SingleFlight {
  readonly #outside: SingleFlightPorts;

  constructor(outside: SingleFlightPorts) {
    this.#outside = outside;
  }

  /** `done` tells what others came to, or undefined where it is still to be done; it is asked again once it is our turn. */
  async once<T>(name: string, done: () => Promise<T | undefined>, work: () => Promise<T>): Promise<T> {
    const { lease, bus, time } = this.#outside;
    const deadline = time.now() + credentialLimits.leaseWaitMs;
    for (;;) {
      const before = await done();
      if (before !== undefined) return before;
      const held = await lease.take(leaseName(name), credentialLimits.leaseMs);
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

function leaseName(name: string): string {
  return `credentials/${name}`;
}

function topicOf(name: string): string {
  return `credentials/turn/${name}`;
}
