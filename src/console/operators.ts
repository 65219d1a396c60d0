/**
 * Who uses the console in a browser or with a key: by a cookie that stands for presented credentials, by the session of
 * the bundled authorization server, or by the `Authorization` header.
 */
import { randomBytes } from 'node:crypto';
import { Failure } from '../errors/failure.ts';
import { BoundedMap } from '../exchange/bounded-map.ts';
import type { Credentials, Principal } from '../identity/principal.ts';
import { isHere } from '../oauth/client/pages/ways.ts';
import type { Generation } from '../pipeline/generation.ts';
import type { AttemptCounts } from '../store/counts.ts';
import { CookieJar } from '../web/cookies.ts';
import type { PageRequest } from '../web/request.ts';
import type { Operator } from './ports.ts';
import { everyRight, isPersonalConsole, rightsOf } from './rights.ts';

export interface OperatorPorts {
  readonly currentGeneration: { readonly now: Generation };
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly attempts: AttemptCounts;
  /** Scheme, host and port by which browsers know the console. */
  readonly publicUrl: string;
  /** Logs that a key or token was not accepted. */
  refused(failure: Failure, address: string): void;
  /** The user of the bundled authorization server. */
  userOf(cookies: string | undefined): Promise<Principal | undefined>;
}

interface SignedInOperator {
  readonly principal: Principal;
  readonly credentials: Credentials;
  readonly until: number;
}

const min = 60_000;
/** A working day: after it the person signs in again. */
const SESSION_MS = 12 * 60 * min;
/** Some 1 KB each. The least recently used one makes room. */
const SESSIONS = 1_000;
/** Of one principal, so that no other's sessions make room for them: browsers that a person uses in a day. */
const SESSIONS_EACH = 20;
/** Long enough to copy the link from a terminal. */
const LINK_MS = 10 * min;
/** Keys are pasted, not typed: after ten misses the person does not have it. */
const attemptLimits = { kind: 'console', most: 10, withinMs: 10 * min, names: 10_000 };
const cookieName = 'bascule-console';

export type SignInOutcome = { readonly cookie: string } | { readonly failure: Failure } | { readonly waitMs: number };

export class Operators {
  readonly #ports: OperatorPorts;
  readonly #jar: CookieJar;
  readonly #sessions = new BoundedMap<SignedInOperator>(SESSIONS);
  #link: { readonly token: string; readonly until: number } | undefined;

  constructor(ports: OperatorPorts) {
    this.#ports = ports;
    this.#jar = new CookieJar(ports.publicUrl, 'Strict');
  }

  /** Without identity there is no sign-in: the console is for the person at this machine. */
  get isPersonal(): boolean {
    return isPersonalConsole(this.#ports.currentGeneration.now.config);
  }

  /**
   * Undefined: the request does not say who it is from. `byCookie`: a browser sends that by itself, so check `Origin`.
   */
  async of(request: PageRequest): Promise<(Operator & { readonly byCookie: boolean }) | undefined> {
    const { config, authenticator } = this.#ports.currentGeneration.now;
    const { authorization, cookie } = request.headers;
    if (this.isPersonal) {
      const session = this.#sessionOf(cookie);
      const isTheirs = session?.credentials === 'local' && isHere(request, this.#ports.publicUrl);
      return isTheirs ? { ...session, rights: everyRight, byCookie: true } : undefined;
    }
    if (authorization !== undefined) {
      const credentials = presented(authorization);
      const principal = await authenticator.anywhere(credentials);
      if (principal instanceof Failure) this.#ports.refused(principal, request.clientAddress);
      if (principal === undefined || principal instanceof Failure) return undefined;
      return { principal, credentials, rights: rightsOf(config, principal), byCookie: false };
    }
    const session = this.#sessionOf(cookie);
    if (session !== undefined && session.credentials !== 'local') {
      // The key may have been revoked, or the token may have expired, while the cookie is valid.
      if (authenticator.stillGood(session.principal))
        return { ...session, rights: rightsOf(config, session.principal), byCookie: true };
      return undefined;
    }
    const user = await this.#ports.userOf(cookie);
    return user && { principal: user, credentials: undefined, rights: rightsOf(config, user), byCookie: true };
  }

  /** Exchanges an access key or a token for a cookie. */
  async signIn(secret: string, address: string): Promise<SignInOutcome> {
    const { attempts } = this.#ports;
    const counters = [{ ...attemptLimits, name: address }];
    // Count before the key is checked, so that concurrent attempts cannot all pass the limit.
    const waitMs = await attempts.attempt(counters);
    if (waitMs > 0) return { waitMs };
    const credentials = presented(`Bearer ${secret}`);
    const principal = await this.#ports.currentGeneration.now.authenticator.anywhere(credentials);
    if (principal === undefined || principal instanceof Failure) {
      const failure = principal ?? new Failure('credentials_missing');
      this.#ports.refused(failure, address);
      return { failure };
    }
    await attempts.takeBack(counters);
    return { cookie: this.#open(principal, credentials) };
  }

  /** A new token for the link, which ends the one before. */
  newLink(): string {
    const token = randomBytes(24).toString('base64url');
    this.#link = { token, until: this.#ports.now() + LINK_MS };
    return token;
  }

  /** Exchanges the token of the link for a cookie, once, and only for a browser on this machine. */
  enter(token: unknown, request: PageRequest): string | undefined {
    const link = this.#link;
    if (!this.isPersonal || link === undefined || !isHere(request, this.#ports.publicUrl)) return undefined;
    if (token !== link.token || link.until <= this.#ports.now()) return undefined;
    this.#link = undefined;
    return this.#open(this.#ports.currentGeneration.now.authenticator.local, 'local');
  }

  /** Ends the session of this cookie. Returns the cookie that deletes it. */
  signOut(cookies: string | undefined): string {
    const id = this.#jar.read(cookies, cookieName);
    if (id !== undefined) this.#sessions.delete(id);
    return this.#jar.drop(cookieName);
  }

  #open(principal: Principal, credentials: Credentials): string {
    const id = randomBytes(32).toString('base64url');
    const own = [...this.#sessions.entries()].filter(([, session]) => session.principal.key === principal.key);
    const [oldest] = own;
    if (oldest !== undefined && own.length >= SESSIONS_EACH) this.#sessions.delete(oldest[0]);
    this.#sessions.set(id, { principal, credentials, until: this.#ports.now() + SESSION_MS });
    return this.#jar.set(cookieName, id, SESSION_MS);
  }

  #sessionOf(cookies: string | undefined): SignedInOperator | undefined {
    const id = this.#jar.read(cookies, cookieName);
    const session = id === undefined ? undefined : this.#sessions.get(id);
    return session !== undefined && session.until > this.#ports.now() ? session : undefined;
  }
}

function presented(authorization: string): Exclude<Credentials, 'local'> {
  return { rawHeaders: ['authorization', authorization], url: '/', method: 'POST' };
}
