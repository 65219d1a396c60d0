/** What the adapters noticed and survived, for logs and counters. */
import type { Failure } from '../errors/failure.ts';
import type { ChannelNotes } from './channel.ts';

export type OddKind =
  /** A JSON-RPC request from a modern backend: the revision forbids it. */
  | 'forbidden_request'
  /** A notification that belongs to nobody, or whose owner is gone. */
  | 'unattributed'
  /** A second ask under the id of one that is open. */
  | 'duplicate_ask'
  /** A notification or an answer of ours that the backend did not take. */
  | 'not_taken'
  /** It has been silent for long while it is looked for. */
  | 'slow'
  /** An exception in a handler: a fault of ours, survived. */
  | 'fault';

export interface BackendNotes extends ChannelNotes {
  odd(kind: OddKind, text: string, cause?: unknown): void;
  /** One of the people who have accounts of their own at the backend was refused. */
  refused(failure: Failure): void;
  /** A stream was not opened: so many are open, and that is the limit. */
  streamsFull(most: number): void;
}
