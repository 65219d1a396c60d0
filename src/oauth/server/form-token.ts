/**
 * What a form of ours carries and a foreign one cannot know. The cookie beside it does not come with a form of another
 * site (SameSite), so that this is the second lock on the same door: one for browsers that have the first wrong.
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
