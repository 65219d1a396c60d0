/** A clock that the test moves, an issuer without a network, and guards. */
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { buildGuard, type GuardedAuth } from '../../src/identity/auth-metadata.ts';
import type { Carrier } from '../../src/identity/credentials.ts';
import type { Fetch, FetchInit, IssuerPorts } from '../../src/identity/documents.ts';
import { Hierarchy } from '../../src/identity/scopes.ts';
import { algorithms, type GuardedSettings, type IssuerSettings } from '../../src/identity/settings.ts';
import type { WallClock } from '../../src/observe/ports.ts';

export class TestTime implements WallClock {
  #now = Date.UTC(2026, 6, 28);
  readonly #waits = new Set<{ readonly at: number; readonly action: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const wait = { at: this.#now + ms, action };
    this.#waits.add(wait);
    return () => this.#waits.delete(wait);
  }

  get waits(): number {
    return this.#waits.size;
  }

  /** In seconds since 1970. */
  get seconds(): number {
    return Math.floor(this.#now / 1000);
  }

  move(ms: number): void {
    this.#now += ms;
    for (const wait of [...this.#waits]) {
      if (wait.at > this.#now) continue;
      this.#waits.delete(wait);
      wait.action();
    }
  }
}

/** What is where on the network, and what was asked. */
export class TestNet {
  readonly asked: string[] = [];
  readonly requests: FetchInit[] = [];
  readonly #pages = new Map<string, (init: FetchInit) => unknown>();

  /** An object is JSON, text is itself, a number a status, an Error a failure to connect. */
  serve(url: string, page: unknown): void {
    this.#pages.set(url, typeof page === 'function' ? (page as () => unknown) : () => page);
  }

  readonly fetch: Fetch = async (url, init) => {
    this.asked.push(url);
    this.requests.push(init);
    const page = await this.#pages.get(url)?.(init);
    if (page instanceof Error) throw page;
    if (page === undefined || typeof page === 'number') return { status: page ?? 404, body: bodyOf('') };
    return { status: 200, body: bodyOf(typeof page === 'string' ? page : JSON.stringify(page)) };
  };
}

async function* bodyOf(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text);
}

export const issuerUrl = 'https://login.example';
export const resource = 'https://mcp.example/mcp';

export interface Signer {
  readonly kid: string;
  readonly alg: string;
  readonly key: CryptoKey;
  readonly jwk: JWK;
}

export async function signer(kid: string, alg = 'ES256'): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair(alg);
  return { kid, alg, key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

export function issuerSettings(more: Partial<IssuerSettings> = {}): IssuerSettings {
  return {
    issuer: issuerUrl,
    algorithms,
    clockToleranceMs: 30_000,
    audienceCheckedByVerifier: false,
    ...more,
  };
}

/** An issuer whose documents are where they should be. */
export class TestIssuer {
  readonly time = new TestTime();
  readonly net = new TestNet();
  readonly outside: IssuerPorts = { fetch: this.net.fetch, time: this.time };
  readonly warnings: string[] = [];
  readonly warn = (text: string, facts: Readonly<Record<string, unknown>>): void => {
    this.warnings.push(`${text} ${JSON.stringify(facts)}`);
  };
  signers: Signer[];

  constructor(...signers: Signer[]) {
    this.signers = signers;
    this.net.serve(`${issuerUrl}/.well-known/oauth-authorization-server`, {
      issuer: issuerUrl,
      jwks_uri: `${issuerUrl}/jwks`,
    });
    this.net.serve(`${issuerUrl}/jwks`, () => ({ keys: this.signers.map(({ jwk }) => jwk) }));
  }

  get keyFetches(): number {
    return this.net.asked.filter((url) => url.endsWith('/jwks')).length;
  }

  claims(more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
    const now = this.time.seconds;
    return { iss: issuerUrl, sub: 'alice', aud: resource, exp: now + 3600, iat: now, scope: 'mcp:read', ...more };
  }

  sign(more: Readonly<Record<string, unknown>> = {}, by = this.signers[0]!, header: object = {}): Promise<string> {
    return sign(by, this.claims(more), header);
  }
}

export function sign(by: Signer, claims: Record<string, unknown>, header: object = {}): Promise<string> {
  const kept = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  return new SignJWT(kept).setProtectedHeader({ alg: by.alg, kid: by.kid, typ: 'at+jwt', ...header }).sign(by.key);
}

export function guarded(more: Partial<GuardedSettings> = {}, implies = {}): GuardedAuth {
  const settings: GuardedSettings = {
    kind: 'guarded',
    keys: true,
    tokens: true,
    style: 'challenge',
    audiences: [],
    scopes: { required: [], methods: {}, tools: {} },
    ...more,
  };
  return buildGuard(settings, {
    issuers: [issuerSettings()],
    hierarchy: new Hierarchy(implies),
    bases: ['https://mcp.example'],
    paths: ['/mcp', '/sse'],
  }) as GuardedAuth;
}

export function carrying(headers: readonly (readonly [string, string])[], url = '/mcp'): Carrier {
  return { rawHeaders: headers.flat(), url };
}

export function bearer(token: string): Carrier {
  return carrying([['Authorization', `Bearer ${token}`]]);
}
