/** The credentials for one backend on behalf of one principal. The store is authoritative; this is a cache of it. */
import { Failure } from '../../errors/failure.ts';
import type { WallClock, Warn } from '../../observe/ports.ts';
import type { Stored } from '../typed-records.ts';
import { acquire, type OAuthBackend, type TokenSubject } from './acquire.ts';
import { AuthBackoff } from './auth-backoff.ts';
import { type Challenge, challengeIn } from './challenge.ts';
import { isCurrent } from './client.ts';
import type { ConsentStore } from './consent-store.ts';
import type { CredentialHeaders, UpstreamRefusal } from './credential-provider.ts';
import { type DiscoveredServer, discover } from './discovery.ts';
import { credentialLimits } from './limits.ts';
import { refresh } from './refresh.ts';
import type { Registrations } from './registration.ts';
import { covers, scopesToAsk } from './scopes.ts';
import type { SingleFlight } from './single-flight.ts';
import { type Access, endOf, isFresh, type StoredTokens, type TokenShelf } from './tokens.ts';

export interface AccountPorts {
  readonly publicUrl: string;
  readonly shelf: TokenShelf;
  readonly registrations: Registrations;
  readonly book: ConsentStore;
  readonly turns: SingleFlight;
  readonly time: WallClock;
  readonly warn: Warn;
  /** Tells all replicas, including this one, that the store has changed. */
  announce(account: string): Promise<void>;
}

interface HeldToken {
  readonly access: Access;
  readonly headers: CredentialHeaders;
  /** No newer token can be obtained: this one is used until it expires. */
  readonly toTheEnd: boolean;
}

const nothing: CredentialHeaders = Object.freeze({});

export class Account {
  readonly key: string;
  readonly #backend: OAuthBackend;
  readonly #ports: AccountPorts;
  readonly #authBackoff = new AuthBackoff();
  /** Undefined: not read from the store yet, or not since it changed. */
  #held: HeldToken | 'nothing' | undefined;
  #preparing: Promise<CredentialHeaders> | undefined;
  /**
   * Refusals are handled one after another: the second one with the same token finds the tokens that the first
   * obtained.
   */
  #answering: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #found: { readonly for: string; readonly at: number; readonly what: DiscoveredServer } | undefined;

  constructor(key: string, backend: OAuthBackend, ports: AccountPorts) {
    this.key = key;
    this.#backend = backend;
    this.#ports = ports;
  }

  /** True while a request prepares credentials or handles a refusal. */
  get busy(): boolean {
    return this.#preparing !== undefined || this.#waiting > 0;
  }

  /** The store has changed. */
  unsettle(): void {
    this.#held = undefined;
  }

  /** A person has consented: retry what failed before. */
  consented(): void {
    this.unsettle();
    this.#authBackoff.forgive();
  }

  headers(): CredentialHeaders | Promise<CredentialHeaders> {
    const now = this.#ports.time.now();
    const standing = this.#authBackoff.standing(now);
    if (standing !== undefined) return Promise.reject(standing);
    const held = this.#held;
    if (held === 'nothing') return nothing;
    if (held !== undefined && isFresh(held.access, now, held.toTheEnd)) return held.headers;
    this.#preparing ??= this.#prepare().finally(() => {
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  refused(caller: TokenSubject, refusal: UpstreamRefusal): Promise<void> {
    this.#waiting += 1;
    const answer = this.#answering.then(() => this.#answer(caller, refusal));
    this.#answering = answer
      .catch(() => undefined)
      .finally(() => {
        this.#waiting -= 1;
      });
    return answer;
  }

  async #prepare(): Promise<CredentialHeaders> {
    try {
      const stored = await this.#stored();
      const access = stored?.value.access;
      const now = this.#ports.time.now();
      if (stored === undefined || access === undefined || isFresh(access, now)) return this.#hold(access);
      if (stored.value.refresh === undefined) return this.#hold(this.#usable(stored.value), true);
      return await this.#renew(stored, access);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async #renew(stored: Stored<StoredTokens>, access: Access): Promise<CredentialHeaders> {
    try {
      const renewed = (await this.#refresh(stored))?.value.access;
      this.#authBackoff.succeeded();
      return this.#hold(renewed);
    } catch (error) {
      if (!isFresh(access, this.#ports.time.now(), true)) throw error;
      return this.#hold(access, true);
    }
  }

  async #answer(caller: TokenSubject, refusal: UpstreamRefusal): Promise<void> {
    try {
      const standing = this.#authBackoff.standing(this.#ports.time.now());
      if (standing !== undefined) throw standing;
      const stored = await this.#stored();
      const current = this.#hold(this.#usable(stored?.value)).authorization;
      const { authorization: presented } = refusal.presented;
      if (current !== undefined && current !== presented) return;
      await this.#better(caller, refusal, current === undefined ? undefined : stored, stored?.value);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** `refused`: the stored tokens, if they are those that were presented. */
  async #better(
    caller: TokenSubject,
    { status, wwwAuthenticate, presented }: UpstreamRefusal,
    refused: Stored<StoredTokens> | undefined,
    kept: StoredTokens | undefined,
  ): Promise<void> {
    const challenge = await challengeIn(wwwAuthenticate);
    const stepUp = challenge.error === 'insufficient_scope';
    if (status !== 401 && !stepUp) throw new Failure('backend_forbidden');
    const standing = refused === undefined ? undefined : this.#authBackoff.refused(this.#ports.time.now());
    if (standing !== undefined) throw standing;
    const found = await this.#discover(challenge, presented.authorization ?? '', kept?.server.issuer);
    // Tokens and scopes of a different issuer do not apply.
    const known = kept?.server.issuer === found.server.issuer ? kept : undefined;
    const scopes = scopesToAsk({
      challenged: challenge.scopes,
      resource: found.scopes,
      configured: this.#backend.settings.auth.scopes,
      asked: known?.asked,
    });
    if (refused !== undefined && known !== undefined && (await this.#again(refused, stepUp, scopes))) return;
    const demand = { account: this.key, backend: this.#backend, caller, found, scopes };
    const tokens = await acquire(demand, this.#ports);
    await this.#ports.shelf.put(this.key, tokens, endOf(tokens));
    await this.#ports.announce(this.key);
    this.#authBackoff.succeeded();
    if (refused !== undefined) this.#authBackoff.replaced(this.#ports.time.now());
    this.#hold(tokens.access);
  }

  /**
   * Whether a refresh obtained a better token. Throws if a grant would bring the same again: a new token that is
   * refused will be refused again.
   */
  async #again(stored: Stored<StoredTokens>, stepUp: boolean, scopes: readonly string[]): Promise<boolean> {
    const { access, refresh: token, asked } = stored.value;
    const young = access !== undefined && this.#ports.time.now() - access.at < credentialLimits.freshMs;
    if (young) {
      if (!covers(asked, scopes)) return false;
      if (stepUp) throw new Failure('backend_forbidden');
      if (!access.refreshed) throw new Failure('backend_unauthorized');
      return false;
    }
    if (stepUp || token === undefined) return false;
    const renewed = (await this.#refresh(stored))?.value.access;
    this.#hold(renewed);
    if (renewed === undefined) return false;
    this.#authBackoff.replaced(this.#ports.time.now());
    return true;
  }

  #refresh(old: Stored<StoredTokens>): Promise<Stored<StoredTokens> | undefined> {
    return refresh(this.key, this.#backend, old, this.#ports);
  }

  async #discover(challenge: Challenge, presented: string, used: string | undefined): Promise<DiscoveredServer> {
    const now = this.#ports.time.now();
    const subject = JSON.stringify([presented, challenge.resourceMetadata]);
    if (this.#found?.for === subject && now - this.#found.at < credentialLimits.discoveryMs) return this.#found.what;
    const { guardedFetch, settings } = this.#backend;
    const what = await discover(guardedFetch, settings, challenge, used);
    this.#found = { for: subject, at: now, what };
    return what;
  }

  /** The stored tokens, if they belong to the issuer and the client of the current config. */
  async #stored(): Promise<Stored<StoredTokens> | undefined> {
    const stored = await this.#ports.shelf.get(this.key);
    if (stored === undefined) return undefined;
    const { auth } = this.#backend.settings;
    const { server, client } = stored.value;
    return (auth.issuer === undefined || auth.issuer === server.issuer) && isCurrent(client, auth) ? stored : undefined;
  }

  /**
   * Leaves out an expired token without a refresh token. Otherwise a request without credentials would be told to retry
   * with it.
   */
  #usable(tokens: StoredTokens | undefined): Access | undefined {
    const access = tokens?.access;
    if (access === undefined || tokens?.refresh !== undefined) return access;
    return isFresh(access, this.#ports.time.now(), true) ? access : undefined;
  }

  /** Returns the same object for the same token. */
  #hold(access: Access | undefined, toTheEnd = false): CredentialHeaders {
    if (access === undefined) {
      this.#held = 'nothing';
      return nothing;
    }
    const held = this.#held;
    const same = held !== undefined && held !== 'nothing' && held.access.token === access.token;
    const headers = same ? held.headers : Object.freeze({ authorization: `Bearer ${access.token}` });
    this.#held = { access, headers, toTheEnd: toTheEnd || (same && held.toTheEnd) };
    return headers;
  }

  #failed(error: unknown): Failure {
    const { warn, time } = this.#ports;
    const failure = error instanceof Failure ? error : new Failure('internal_error');
    if (failure === this.#authBackoff.standing(time.now())) return failure;
    this.#authBackoff.failed(failure, time.now());
    // Neither message nor cause: they may contain what was sent.
    const why = error instanceof Failure ? error.reason : error instanceof Error ? error.name : 'unknown';
    if (failure.reason !== 'consent_needed')
      warn('the gateway cannot get a token for a backend', { backend: this.#backend.name, why });
    return failure;
  }
}
