/**
 * CSRF tokens for our forms. The `SameSite` cookie already keeps a foreign form from being sent with our cookie; the
 * token also protects browsers that implement `SameSite` wrongly.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

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
