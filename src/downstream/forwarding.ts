/** Port to other processes of the same gateway: requests whose session is there are handed over. */
import type { IncomingMessage } from 'node:http';
import type { TlsOptions } from 'node:tls';
import type { Authenticated, Endpoint } from '../exchange/arrival.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { HttpAnswer } from './respond.ts';

/** In a response to another process: it does not take the request from there. */
export const REFUSED_HEADER = 'bascule-refused';

export interface Forwarding {
  /** This process, as the ids of its sessions name it. */
  readonly member: string;
  /** Where the others hand requests to this one. */
  readonly door: Door;
  /** The address of the door, once it is open. */
  opened?(address: { readonly host: string; readonly port: number }): void;
  /**
   * Whether the request is taken care of: another process answers it, or `serve` is called later. False: it is to be
   * served here and now.
   */
  take(request: Passing): boolean;
  /** Who a forwarded request is from. Undefined where no process of ours has sent it. */
  accept(req: IncomingMessage): ForwardedFrom | undefined;
  close(): void;
}

/** A Unix socket, or a port on which both ends prove that they have the same key. */
export type Door =
  | { readonly path: string }
  | { readonly host: string; readonly port: number; readonly tls: TlsOptions };

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
  /** Of the client. */
  readonly address: string;
  /** The process that had the session hands it over. */
  readonly takesOver?: boolean | undefined;
}
