/** Port to other processes of the same gateway: requests whose session is there are handed over. */
import type { IncomingMessage } from 'node:http';
import type { Authenticated } from '../exchange/arrival.ts';
import type { HttpAnswer } from './respond.ts';

export interface Forwarding {
  /** This process, as the ids of its sessions name it. */
  readonly member: string;
  /** The Unix socket where the others hand requests to this one. */
  readonly socket: string;
  isElsewhere(member: string): boolean;
  /** Answers with the response of the other process. `body`: where it was read already. */
  forward(res: HttpAnswer, member: string, sender: Authenticated, body?: Uint8Array): void;
  /** Who a forwarded request is from. Undefined where no process of ours has sent it. */
  accept(req: IncomingMessage): ForwardedFrom | undefined;
  close(): void;
}

export interface ForwardedFrom {
  /** The key of the principal that was authenticated there. */
  readonly principal: string;
  /** Of the client. */
  readonly address: string;
}

/**
 * Whether the request was handed to the process that has what it names. What was handed over is never passed on. Ask
 * only where there is `forwarding`.
 */
export function isHandedOver(
  res: HttpAnswer,
  sender: Authenticated,
  memberOf: () => string | undefined,
  body?: Uint8Array,
): boolean {
  const { forwarding } = res.shared;
  const member = forwarding === undefined || res.forwarded !== undefined ? undefined : memberOf();
  if (forwarding === undefined || member === undefined || !forwarding.isElsewhere(member)) return false;
  forwarding.forward(res, member, sender, body);
  return true;
}
