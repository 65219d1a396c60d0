/** Reads a posted form up to a size limit. The HTTP server's request timeout bounds the time. */
import type { IncomingMessage } from 'node:http';
import { authServerLimits } from './limits.ts';

/** Undefined if the body is not a form or is too large, or if the connection ended. */
export async function readForm(req: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(req.headers['content-type'] ?? '')) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).byteLength;
      if (size > authServerLimits.formBytes) return undefined;
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return new URLSearchParams(Buffer.concat(chunks, size).toString('utf8'));
}
