/** Reads what a backend sent: one message, or an array of them (2025-03-26 servers send arrays). */
import { Failure } from '../errors/failure.ts';
import { skimBatch } from '../wire/batch.ts';
import type { Message } from '../wire/message.ts';
import { skimMessage } from '../wire/skim.ts';
import type { ChannelNotes } from './channel.ts';

/** Throws Failure('backend_invalid') where the bytes are no JSON-RPC. */
export function readIncoming(bytes: Uint8Array): readonly Message[] {
  const read = skimMessage(bytes);
  return read.kind === 'batch' ? skimBatch(read) : [read];
}

/** The same for an event of a stream. Undefined where it is unreadable: that is noted, and the stream goes on. */
export function readEvent(data: Uint8Array, notes: ChannelNotes): readonly Message[] | undefined {
  try {
    return readIncoming(data);
  } catch {
    notes.noise('unreadable', excerpt(data));
    return undefined;
  }
}

/** What was sent as a response is none. */
export function unreadableAnswer(): Failure {
  const message = 'The backend sent a message that is not a JSON-RPC response, or is nested too deeply';
  return new Failure('backend_invalid', { message });
}

/** Length of the excerpt in the log: enough to recognise a banner or the head of a message. */
const EXCERPT_BYTES = 200;

export function excerpt(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, EXCERPT_BYTES)).toString('utf8');
  return bytes.byteLength > EXCERPT_BYTES ? `${head}…` : head;
}
