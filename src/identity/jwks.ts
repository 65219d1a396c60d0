/** An issuer's keys: fetched when needed, cached for a time, and fetched again when a token names an unknown key. */
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import { metadataAddresses } from '../oauth/well-known.ts';
import type { Warn } from '../observe/ports.ts';
import { fetchDocument, IssuerError, type IssuerPorts, isSafeAddress } from './documents.ts';
import { identityLimits } from './limits.ts';
import type { IssuerSettings } from './settings.ts';

/** One fetched version of the keys. */
export interface KeySet {
  readonly keys: JWTVerifyGetKey;
  readonly at: number;
}

type IssuerPlace = Pick<IssuerSettings, 'issuer' | 'jwksUri' | 'keys'>;

export class IssuerKeys {
  readonly #settings: IssuerPlace;
  readonly #outside: IssuerPorts;
  readonly #warn: Warn;
  #held: KeySet | undefined;
  #fetching: Promise<KeySet | undefined> | undefined;
  #triedAt: number | undefined;
  #failed = false;

  constructor(settings: IssuerPlace, outside: IssuerPorts, warn: Warn) {
    this.#settings = settings;
    this.#outside = outside;
    this.#warn = warn;
  }

  /** Undefined if there are no usable keys and none can be fetched at the moment. */
  async get(): Promise<KeySet | undefined> {
    if (this.#held !== undefined && !this.#hasPassed(identityLimits.issuerKeysMs, this.#held.at)) return this.#held;
    const mayTry = !this.#failed || this.#hasPassed(identityLimits.issuerRetryMs, this.#triedAt);
    if (mayTry || this.#fetching !== undefined) await this.#fetch();
    const held = this.#held;
    return held === undefined || this.#hasPassed(identityLimits.issuerOutageMs, held.at) ? undefined : held;
  }

  /** For a token whose key is not in `than`: a newer key set, if one exists or may be fetched. */
  async newer(than: KeySet): Promise<KeySet | undefined> {
    const mayTry = this.#hasPassed(identityLimits.unknownKidMs, this.#triedAt);
    if (this.#held === than && (mayTry || this.#fetching !== undefined)) await this.#fetch();
    return this.#held === than ? undefined : this.#held;
  }

  /** If the clock was set back, do not wait until it has caught up. */
  #hasPassed(ms: number, since: number | undefined): boolean {
    if (since === undefined) return true;
    const passed = this.#outside.time.now() - since;
    return passed < 0 || passed >= ms;
  }

  /** Concurrent callers share one fetch. Never rejects. */
  #fetch(): Promise<KeySet | undefined> {
    this.#fetching ??= this.#load().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #load(): Promise<KeySet | undefined> {
    const at = this.#outside.time.now();
    this.#triedAt = at;
    try {
      // Throws for an invalid key set.
      this.#held = { keys: createLocalJWKSet(await this.#document()), at };
      this.#failed = false;
      return this.#held;
    } catch (error) {
      this.#failed = true;
      const why = error instanceof IssuerError ? error.message : 'its keys are not a JSON Web Key Set';
      this.#warn('the keys of an issuer cannot be fetched', { issuer: this.#settings.issuer, why });
      return undefined;
    }
  }

  async #document(): Promise<JSONWebKeySet> {
    const { issuer, jwksUri, keys } = this.#settings;
    if (keys !== undefined) return keys();
    const uri = jwksUri ?? (await discoverJwksUri(issuer, this.#outside));
    return (await fetchDocument(uri, this.#outside)) as unknown as JSONWebKeySet;
  }
}

/** Rejects with an `IssuerError` about the last address. The config names the issuer, so every address is tried. */
export async function discoverJwksUri(issuer: string, outside: IssuerPorts): Promise<string> {
  let last = new IssuerError('it has no metadata document');
  for (const address of metadataAddresses(issuer)) {
    try {
      const metadata = await fetchDocument(address, outside);
      // RFC 8414, 3.3: the issuer must be identical, or the document must not be used.
      if (metadata.issuer !== issuer) throw new IssuerError('the metadata names another issuer');
      const { jwks_uri: uri } = metadata;
      if (typeof uri !== 'string') throw new IssuerError('the metadata has no jwks_uri');
      if (!isSafeAddress(uri)) throw new IssuerError('the keys are at an address that is not safe');
      return uri;
    } catch (error) {
      if (!(error instanceof IssuerError)) throw error;
      last = error;
    }
  }
  throw last;
}
