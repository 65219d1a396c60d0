/** Reading what a backend sent: bytes that hold one message, or an array of them (2025-03-26 servers send those). */
import { skimBatch } from '../wire/batch.ts';
import type { Message } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import type { ChannelNotes } from './channel.ts';

/** Throws Failure('backend_invalid') where that is no JSON-RPC. */
export function readIncoming(bytes: Uint8Array): readonly Message[] {
  const read = skimMessage(bytes);
  return read.kind === 'batch' ? skimBatch(read) : [read];
}

/** The same for an event of a stream: what cannot be read is noted and passed over, and the stream goes on. Undefined then. */
export function readEvent(data: Uint8Array, notes: ChannelNotes): readonly Message[] | undefined {
  try {
    return readIncoming(data);
  } catch {
    notes.noise('unreadable', excerpt(data));
    return undefined;
  }
}

/** What a log gets to see of bytes that nobody could use: enough to recognise a banner or the head of a message. */
const EXCERPT_BYTES = 200;

export function excerpt(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, EXCERPT_BYTES)).toString('utf8');
  return bytes.byteLength > EXCERPT_BYTES ? `${head}…` : head;
}
