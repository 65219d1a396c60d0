/** Irregularities that the adapters survived, for logs and counters. */
import type { Failure } from '../errors/failure.ts';
import type { ChannelNotes } from './channel.ts';

export type OddKind =
  /** A JSON-RPC request from a modern backend: the revision forbids it. */
  | 'forbidden_request'
  /** A notification that belongs to no call, or whose call is over. */
  | 'unattributed'
  /** A second server request under the id of an open one. */
  | 'duplicate_ask'
  /** A notification or response of ours that the backend did not accept. */
  | 'not_taken'
  /** The backend has not answered a probe for long. */
  | 'slow'
  /** An exception in a handler: a fault of ours, survived. */
  | 'fault';

export interface BackendNotes extends ChannelNotes {
  odd(kind: OddKind, text: string, cause?: unknown): void;
  /** The backend refused one of the principals that have accounts of their own there. */
  refused(failure: Failure): void;
  /** A stream was not opened, because `most` streams are open, which is the limit. */
  streamsFull(most: number): void;
}
