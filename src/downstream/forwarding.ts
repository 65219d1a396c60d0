/** Port to other processes of the same gateway: requests whose session is there are handed over. */
import type { IncomingMessage } from 'node:http';
import type { Authenticated, Endpoint } from '../exchange/arrival.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { HttpAnswer } from './respond.ts';

export interface Forwarding {
  /** This process, as the ids of its sessions name it. */
  readonly member: string;
  /** From now on other processes can hand requests to this one. `fault`: is told of errors that are not expected. */
  open(enter: Enter, fault: (error: Error) => void): Promise<OpenDoor>;
  /**
   * Whether the request is taken care of: another process answers it, or `serve` is called later. False: it is to be
   * served here and now.
   */
  take(request: Passing): boolean;
  close(): void;
}

/** Is handed each request that comes from another process. */
export type Enter = (req: IncomingMessage, res: HttpAnswer, from: ForwardedFrom) => void;

export interface OpenDoor {
  /** Ends what is open, after the others were told to hand over nothing more. */
  close(): Promise<void>;
}

/** An authenticated request that may belong to another process. */
export interface Passing {
  readonly res: HttpAnswer;
  readonly endpoint: Endpoint;
  readonly sender: Authenticated;
  /** The process that the address names, for a connection that lives there alone. */
  readonly boundTo?: string | undefined;
  /** Of a POST that was read. */
  readonly body?: Uint8Array;
  readonly message?: Message | Batch;
  /** Serves the request here. */
  serve(): void;
}

export interface ForwardedFrom {
  /** The process that has forwarded it. */
  readonly from: string;
  /** The key of the principal that was authenticated there. */
  readonly principal: string;
  /** The process that had the session hands it over. */
  readonly takesOver?: boolean | undefined;
}
