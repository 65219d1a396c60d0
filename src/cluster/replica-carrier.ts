/** Carries requests to other replicas and takes theirs, each with its envelope. */
import type { IncomingMessage } from 'node:http';
import type { ForwardedFrom, Passing } from '../downstream/forwarding.ts';
import type { Dialer } from './door.ts';
import { ENVELOPE_HEADER, type Envelopes } from './envelope.ts';
import { type Forwarded, forward } from './forward.ts';
import type { Members } from './members.ts';
import { OpenForwards } from './open-forwards.ts';

export interface ReplicaCarrierPorts {
  readonly members: Members;
  readonly envelopes: Envelopes;
  /** How the others are reached. */
  readonly onward: Dialer;
}

export class ReplicaCarrier {
  readonly #ports: ReplicaCarrierPorts;
  readonly #open = new OpenForwards();

  constructor(ports: ReplicaCarrierPorts) {
    this.#ports = ports;
  }

  /** `takesOver`: the other process goes on with the session. */
  carry({ res, sender, body, message }: Passing, to: string, takesOver = false): Promise<Forwarded> {
    const { members, envelopes, onward } = this.#ports;
    const { req, shared } = res;
    const envelope = envelopes.write({
      ...{ from: members.own, to, method: req.method ?? '', url: req.url ?? '', principal: sender.principal.key },
      ...{ address: shared.currentGeneration.now.addresses.of(req), takesOver },
    });
    const carrying = forward(res, {
      ...{ dial: onward.dialAt(members.addressOf(to) ?? ''), more: [ENVELOPE_HEADER, envelope], body },
      agent: members.stateOf(to) === 'alive' ? onward.agent : onward.freshAgent,
      watched: (cut) => this.#open.add(to, cut),
    });
    // Before it ends, this process waits for the answers to what it has passed on.
    if (message?.kind === 'request' || message?.kind === 'batch') shared.gateway.places.busyUntil(carrying);
    return carrying;
  }

  /** Who has sent it. Undefined where it was no process of ours, or not to this one. */
  accept({ headers, method = '', url = '' }: IncomingMessage): ForwardedFrom | undefined {
    const { envelopes, members } = this.#ports;
    const text = headers[ENVELOPE_HEADER];
    return typeof text === 'string' ? envelopes.open(text, { to: members.own, method, url }) : undefined;
  }

  /** Ends what waits for processes that do not answer any more. To be called now and then. */
  look(): Promise<void> {
    const { members, onward } = this.#ports;
    return this.#open.look(
      (member) => members.stateOf(member) === 'gone',
      async (member) => {
        const address = members.lastAddressOf(member);
        return address !== undefined && onward.answersAt(address);
      },
    );
  }

  close(): void {
    const { onward } = this.#ports;
    onward.agent.destroy();
    onward.freshAgent.destroy();
  }
}
