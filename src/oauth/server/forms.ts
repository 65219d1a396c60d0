/** Forms of our pages: the token that each carries, and reading what a browser posts. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { readBounded } from '../fetch/body.ts';
import { authServerLimits } from './limits.ts';

/**
 * CSRF tokens. The `SameSite` cookie already keeps a foreign form from being sent with our cookie; the
 * token also protects browsers that implement `SameSite` wrongly.
 */
export class FormTokens {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  make(...about: readonly string[]): string {
    return createHmac('sha256', this.#key)
      .update(JSON.stringify(['form', ...about]))
      .digest('base64url');
  }

  isRight(given: string | null, ...about: readonly string[]): boolean {
    const right = Buffer.from(this.make(...about));
    const presented = Buffer.from(given ?? '');
    return presented.length === right.length && timingSafeEqual(presented, right);
  }
}

/**
 * Undefined if the body is not a form or is too large, or if the connection ended. The HTTP server's request timeout
 * bounds the time.
 */
export async function readForm(req: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(req.headers['content-type'] ?? '')) return undefined;
  try {
    const body = await readBounded(req.iterator({ destroyOnReturn: false }), authServerLimits.formBytes);
    return new URLSearchParams(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
