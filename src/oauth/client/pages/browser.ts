/**
 * Proves that a form comes from a page that we showed in this browser: a cookie, and in the form a value derived from
 * it. A foreign page can send a form, but does not know the cookie, and `SameSite` keeps the cookie from its form.
 * `Origin` cannot help: under `Referrer-Policy: no-referrer` browsers send `null` (Fetch, 3.2).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { CookieJar } from '../../../web/cookies.ts';
import type { PageRequest } from '../../../web/request.ts';

const cookieName = 'bascule-browser';
const wellFormed = /^[\w-]{43}$/;

export interface Browser {
  /** For the hidden field of a form about this consent. */
  formToken(id: string): string;
  /** Empty if the browser has the cookie already. */
  readonly setCookie: readonly string[];
}

export class Browsers {
  readonly #jar: CookieJar;
  readonly #random: () => string;

  constructor(jar: CookieJar, random: () => string) {
    this.#jar = jar;
    this.#random = random;
  }

  meet({ headers }: PageRequest): Browser {
    const known = this.#secretIn(headers.cookie);
    const secret = known ?? this.#random();
    return {
      formToken: (id) => tokenOf(secret, id).toString('base64url'),
      setCookie: known === undefined ? [this.#jar.set(cookieName, secret)] : [],
    };
  }

  sentForm({ headers }: PageRequest, id: string, token: string | undefined): boolean {
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin') return false;
    const secret = this.#secretIn(headers.cookie);
    if (secret === undefined || token === undefined) return false;
    const given = Buffer.from(token, 'base64url');
    const right = tokenOf(secret, id);
    return given.byteLength === right.byteLength && timingSafeEqual(given, right);
  }

  #secretIn(cookies: string | undefined): string | undefined {
    const value = this.#jar.read(cookies, cookieName);
    return value !== undefined && wellFormed.test(value) ? value : undefined;
  }
}

function tokenOf(secret: string, id: string): Buffer {
  return createHash('sha256').update(`connect form\0${secret}\0${id}`).digest();
}
