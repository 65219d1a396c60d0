/** Reads a whole response body within its limit, before and after decompression. */
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { OutwardError } from './errors.ts';

type Decode = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Buffer>;

const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** Must match DECODERS. */
export const ACCEPTED_CODINGS = 'gzip, deflate, br';

export async function readBody(
  body: AsyncIterable<Uint8Array>,
  coding: string | undefined,
  most: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > most) throw tooLarge(most);
    chunks.push(chunk);
  }
  return decode(Buffer.concat(chunks), (coding ?? 'identity').trim().toLowerCase(), most);
}

async function decode(bytes: Uint8Array, coding: string, most: number): Promise<Uint8Array> {
  // An empty body needs no decoding: a response to HEAD has a `content-encoding` too.
  if (coding === 'identity' || coding === '' || bytes.byteLength === 0) return bytes;
  const decoder = DECODERS.get(coding);
  if (decoder === undefined)
    throw new OutwardError('undecodable', 'the answer is in a content coding that is not known');
  try {
    return await decoder(bytes, { maxOutputLength: most });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(most);
    throw new OutwardError('undecodable', 'the answer is not in the content coding that it names', error);
  }
}

function tooLarge(most: number): OutwardError {
  return new OutwardError('too_large', `the answer has more than ${most} bytes`);
}
