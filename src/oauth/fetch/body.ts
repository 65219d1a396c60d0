/** Reads whole responses within their limits. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { OutwardError } from './errors.ts';

type Decode = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

/** `node:zlib` is loaded at the first compressed response. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', (bytes, options) => promisify(gunzip)(bytes, options)],
  ['x-gzip', (bytes, options) => promisify(gunzip)(bytes, options)],
  ['deflate', (bytes, options) => promisify(inflate)(bytes, options)],
  ['br', (bytes, options) => promisify(brotliDecompress)(bytes, options)],
]);

/** Must match DECODERS. */
export const ACCEPTED_CODINGS = 'gzip, deflate, br';

/** Rejects with an OutwardError of the kind `too_large`. */
export async function readBounded(body: AsyncIterable<Uint8Array> | null, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > most) throw tooLarge(most);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, bytes);
}

/** The limit holds before and after decompression. */
export async function readBody(
  body: AsyncIterable<Uint8Array>,
  coding: string | undefined,
  most: number,
): Promise<Uint8Array> {
  return decode(await readBounded(body, most), (coding ?? 'identity').trim().toLowerCase(), most);
}

interface WholeLimits {
  readonly ms: number;
  readonly bytes: number;
  readonly time: { after(ms: number, action: () => void): () => void };
}

/** Sends a request and reads its whole response. Rejects with what `send` does, or with an OutwardError. */
export async function fetchWhole<R extends { readonly body: AsyncIterable<Uint8Array> | null }>(
  send: (signal: AbortSignal) => Promise<R>,
  { ms, bytes, time }: WholeLimits,
): Promise<{ readonly response: R; readonly text: string }> {
  const controller = new AbortController();
  const stop = time.after(ms, () => controller.abort());
  try {
    const response = await send(controller.signal);
    return { response, text: (await readBounded(response.body, bytes)).toString('utf8') };
  } catch (error) {
    throw controller.signal.aborted ? new OutwardError('too_slow', `no answer within ${ms} ms`, error) : error;
  } finally {
    stop();
    // A body that is not read to its end would hold its connection.
    controller.abort();
  }
}

async function decode(bytes: Uint8Array, coding: string, most: number): Promise<Uint8Array> {
  // An empty body needs no decoding: a response to HEAD has a `content-encoding` too.
  if (coding === 'identity' || coding === '' || bytes.byteLength === 0) return bytes;
  const decoder = DECODERS.get(coding);
  if (decoder === undefined) throw new OutwardError('undecodable', 'the response has an unknown content coding');
  try {
    return await decoder(bytes, { maxOutputLength: most });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(most);
    throw new OutwardError('undecodable', 'the response is not in the content coding that it declares', error);
  }
}

function tooLarge(most: number): OutwardError {
  return new OutwardError('too_large', `the response has more than ${most} bytes`);
}
