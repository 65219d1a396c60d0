/**
 * Binds a flow to a browser. A person who is redirected to a different server gets a sealed cookie, and that server's
 * response is accepted in this browser alone. So nobody can make somebody else finish their flow, or finish a flow for
 * somebody else.
 * https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#phishing
 */
import { createHash } from 'node:crypto';
import type { Seal } from '../store/ports.ts';
import type { CookieJar } from '../web/cookies.ts';

/**
 * From the redirect to a different server until the return: a person may have to find a second device, or create an
 * account.
 */
const AWAY_MS = 30 * 60_000;

/** The kind of redirect, and the id that tells it from others in the same browser. */
export type Errand =
  /** At the backend's authorization server. */
  | { readonly kind: 'consent'; readonly id: string }
  /** At the issuer of the principal. */
  | { readonly kind: 'sign-in'; readonly state: string }
  /** At the provider behind the bundled authorization server. */
  | { readonly kind: 'provider'; readonly state: string };

export class FlowCookies {
  readonly #jar: CookieJar;
  readonly #seal: Seal;
  readonly #now: () => number;

  constructor(jar: CookieJar, seal: Seal, now: () => number) {
    this.#jar = jar;
    this.#seal = seal;
    this.#now = now;
  }

  /** Makes the cookie for a redirect. `kept` is encrypted in it. */
  leave(errand: Errand, kept: string): string {
    const until = this.#now() + AWAY_MS;
    const sealed = this.#seal.seal(`${until} ${kept}`, contextOf(errand));
    return this.#jar.set(nameOf(errand), sealed, AWAY_MS);
  }

  /** Returns `kept`. Undefined if this browser did not start the flow, or started it too long ago. */
  back(errand: Errand, cookies: string | undefined): string | undefined {
    const sealed = this.#jar.read(cookies, nameOf(errand));
    const plain = sealed === undefined ? undefined : this.#seal.open(sealed, contextOf(errand));
    if (plain === undefined) return undefined;
    const blank = plain.indexOf(' ');
    return Number(plain.slice(0, blank)) > this.#now() ? plain.slice(blank + 1) : undefined;
  }

  /** Deletes the cookie. */
  arrived(errand: Errand): string {
    return this.#jar.drop(nameOf(errand));
  }
}

function contextOf(errand: Errand): string {
  return `away\0${errand.kind}\0${markOf(errand)}`;
}

/** A hash: the mark may contain characters that a cookie's name must not. */
function nameOf(errand: Errand): string {
  const hash = createHash('sha256').update(markOf(errand)).digest('base64url').slice(0, 16);
  return `bascule-${errand.kind}-${hash}`;
}

function markOf(errand: Errand): string {
  return errand.kind === 'consent' ? errand.id : errand.state;
}
