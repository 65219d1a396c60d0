/** How messages reach a server and come back, over any transport. */
import type { Transport } from '../../upstream/verdict.ts';
import type { JsonObject, PeerReply } from './reply.ts';

export type RequestId = string | number;
export type HeaderChanges = Readonly<Record<string, string | undefined>>;

export interface SendOptions {
  /** HTTP alone. */
  readonly headers?: HeaderChanges;
  /** The id whose response is waited for. Without one, none is expected. */
  readonly id?: RequestId | undefined;
  /** Ends the wait sooner: called with each message that is not the response. */
  readonly until?: (message: JsonObject) => boolean;
}

export interface Peer {
  readonly kind: Transport;
  /** Sends one message as it is. Never rejects: what went wrong is in the reply. */
  send(text: string, options?: SendOptions): Promise<PeerReply>;
  /** Ends the connection. Returns what went wrong, in a sentence. */
  close(): Promise<string | undefined>;
}

/** Limits of everything that is read from a server. Its time limit is an option of the command. */
export const readLimits = {
  /** Of one response, and of one event or line: more than any list that a model can use. */
  bytes: 4 * 1024 * 1024,
  /** Pages of one list. */
  pages: 100,
  /** Of a process, after its standard input was closed, and after SIGTERM. */
  stopMs: 2_000,
} as const;
