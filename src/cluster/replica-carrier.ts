/** Carries requests to other replicas, and watches those that wait for an answer. */
import type { Passing } from '../downstream/forwarding.ts';
import type { Forwarded } from './forwarded.ts';
import type { Lanes } from './lanes/lanes.ts';
import type { Members } from './members.ts';
import { SilentMembers } from './silent-members.ts';

export interface ReplicaCarrierPorts {
  readonly members: Members;
  readonly lanes: Lanes;
}

export class ReplicaCarrier {
  readonly #ports: ReplicaCarrierPorts;
  readonly #silent: SilentMembers;

  constructor(ports: ReplicaCarrierPorts) {
    this.#ports = ports;
    this.#silent = new SilentMembers(ports.lanes);
  }

  /** `takesOver`: the other process goes on with the session. */
  carry({ res, sender, body, message }: Passing, to: string, takesOver = false): Promise<Forwarded> {
    const carrying = this.#ports.lanes.carry(to, { res, principal: sender.principal.key, body, takesOver });
    // Before it ends, this process waits for the answers to what it has passed on.
    if (message?.kind === 'request' || message?.kind === 'batch') res.shared.gateway.places.busyUntil(carrying);
    return carrying;
  }

  /** Ends what waits for processes that do not answer any more. To be called now and then. */
  look(): Promise<void> {
    const { members } = this.#ports;
    return this.#silent.look((member) => members.stateOf(member) === 'gone');
  }

  close(): void {
    this.#ports.lanes.close();
  }
}
