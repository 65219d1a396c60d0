/**
 * The wire for people (`--trace`): one line on stderr for each message, of both sides. Bodies are shown, arguments
 * included, because the user asked for them. Of headers only those of the table are shown, and no credential.
 */
import { type LineStream, LineWriter } from './line-writer.ts';

export type WirePeer =
  /** `name`: its address. */
  | { readonly side: 'client'; readonly name: string }
  /** `name`: as in the config. */
  | { readonly side: 'backend'; readonly name: string };

/** Seen from the gateway. */
export type WireDirection = 'in' | 'out';

export interface WireTrace {
  /** `body`: a message as bytes, or what happened in its place. */
  show(direction: WireDirection, peer: WirePeer, body: Uint8Array | string, header?: ReadHeader): void;
}

type ReadHeader = (name: string) => string | undefined;

/** A message that is longer is cut off: a person reads the beginning. */
const BODY_BYTES = 4_096;
/** What may wait for the reader of stderr. Lines beyond it are dropped, and counted in the output. */
const QUEUE_BYTES = 4 * 1024 * 1024;

const shownHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'] as const;
/** With one of these a reader of the trace could act for the client, so only their presence is shown. */
const maskedHeaders = ['authorization', 'cookie', 'mcp-session-id'] as const;

export function createWireTrace(stream: LineStream, now: () => Date = () => new Date()): WireTrace {
  const writer = new LineWriter({
    stream,
    queueBytes: QUEUE_BYTES,
    droppedLine: (count) => `(${count} traced messages were dropped: the reader of stderr did not keep up)\n`,
  });
  return {
    show: (direction, { side, name }, body, header) => {
      const peer = `${side} ${onOneLine(name)}`;
      const way = direction === 'in' ? `${peer} -> gateway` : `gateway -> ${peer}`;
      const headers = header === undefined ? '' : headersShown(header);
      writer.write(`${now().toISOString().slice(11, 23)} ${way}  ${bodyShown(body)}${headers}\n`);
    },
  };
}

function bodyShown(body: Uint8Array | string): string {
  if (typeof body === 'string') return `(${onOneLine(body)})`;
  const text = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, BODY_BYTES)).toString('utf8');
  const rest = body.byteLength > BODY_BYTES ? `... (${body.byteLength} bytes)` : '';
  return `${onOneLine(text)}${rest}`;
}

function headersShown(header: ReadHeader): string {
  const shown = shownHeaders.flatMap((name) => {
    const value = header(name);
    return value === undefined ? [] : [`${name}: ${onOneLine(value).slice(0, 200)}`];
  });
  const masked = maskedHeaders.flatMap((name) => (header(name) === undefined ? [] : [`${name}: ***`]));
  const all = [...shown, ...masked];
  return all.length === 0 ? '' : `  [${all.join(', ')}]`;
}

/** Control characters could end the line, or command a terminal. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\t\r\n]+/g, ' ').replaceAll(/[\p{Cc}\u2028\u2029]/gu, '\ufffd');
}
