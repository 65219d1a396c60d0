/**
 * Connects OAuth towards backends to the gateway: credentials that are presented on behalf of people, consent pages,
 * and waiting for consent.
 */
import { randomBytes } from 'node:crypto';
import type { BackendConfig, Config } from '../config/config.ts';
import type { Pages } from '../downstream/mounted-paths.ts';
import { Failure } from '../errors/failure.ts';
import { basesOf } from '../identity/auth-metadata.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import { localPrincipal, type Principal } from '../identity/principal.ts';
import { clientDocument } from '../oauth/client/client-document.ts';
import { createCredentials, type OAuthCredentials } from '../oauth/client/create.ts';
import type { CredentialHeaders, CredentialProvider } from '../oauth/client/credential-provider.ts';
import { GuardedFetch } from '../oauth/client/guarded-fetch.ts';
import { mountConnectPages } from '../oauth/client/pages/create.ts';
import { openIdSignIn } from '../oauth/client/pages/openid.ts';
import type { OwnSignIn } from '../oauth/client/pages/ports.ts';
import type { TrustedFetch } from '../oauth/client/ports.ts';
import { type BackendAuth, clientDocumentPath } from '../oauth/client/settings.ts';
import type { WallClock, Warn } from '../observe/ports.ts';
import type { ConsentWaiter } from '../pipeline/interceptors/consent.ts';
import { MemoryBus } from '../store/memory.ts';
import { RecordLease } from '../store/record-lease.ts';
import type { PresentedTo } from '../upstream/create-backend.ts';
import type { Mounted } from '../web/mount.ts';
import type { AuthServerHost } from './auth-server-host.ts';
import type { OpenState, Storage } from './storage.ts';

export interface UpstreamOAuthPorts {
  readonly authenticator: Authenticator;
  readonly authority: AuthServerHost;
  readonly time: WallClock;
  readonly warn: Warn;
  /** A person has given consent: the backend may now accept what it refused to this principal. */
  consented(backend: string, principalKey: string): void;
}

export class UpstreamOAuth {
  #config: Config;
  readonly #outside: UpstreamOAuthPorts;
  #credentials: OAuthCredentials | undefined;
  #ready: () => Promise<void> = async () => undefined;
  #mounted: Mounted | undefined;
  #document: string | undefined;

  #consenting: ConsentWaiter | undefined;
  /** Applies the current config again. Set once storage is open. */
  #again: (() => void) | undefined;
  readonly #closing = new AbortController();
  readonly #waiting: ConsentWaiter = {
    waitFor: async (id, ms, signal) => {
      const until = AbortSignal.any([signal, this.#closing.signal]);
      const waited = await this.#credentials?.consents.waitFor(id, ms, until);
      return waited === undefined || this.#closing.signal.aborted ? new Failure('shutting_down') : waited;
    },
  };

  constructor(config: Config, outside: UpstreamOAuthPorts) {
    this.#config = config;
    this.#outside = outside;
    this.#consenting = this.isNeeded ? this.#waiting : undefined;
  }

  /** Whether any backend needs credentials other than the config's headers. */
  get isNeeded(): boolean {
    return this.#config.backends.some((backend) => authOf(backend) !== undefined);
  }

  /** Read for every call, so it is precomputed. */
  get consenting(): ConsentWaiter | undefined {
    return this.#consenting;
  }

  /** A new config is in force, possibly with different backends. */
  renew(config: Config): void {
    this.#config = config;
    this.#consenting = this.isNeeded ? this.#waiting : undefined;
    this.#again?.();
  }

  /** Nothing is served before `open`. */
  readonly pages: Pages = {
    owns: (path) => this.#mounted?.owns(path) === true || (path === clientDocumentPath && this.#document !== undefined),
    handle: async (req, res, path) => {
      if (path !== clientDocumentPath) this.#mounted?.handle(req, res);
      else {
        res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=300' });
        res.end(req.method === 'HEAD' ? undefined : this.#document);
      }
    },
  };

  presentedTo(backend: BackendConfig): PresentedTo | undefined {
    const auth = authOf(backend);
    if (auth === undefined) return undefined;
    const { name } = backend;
    if (auth.shared) return { kind: 'shared', credentialProvider: this.#credentialProvider(name, () => whoeverRunsUs) };
    return { kind: 'personal', credentialProviderFor: (current) => this.#credentialProvider(name, current) };
  }

  /**
   * Called once the address that we listen on is known, and before any request to a backend. Rejects with a StoreError.
   */
  async open(url: () => Promise<string>, state: Storage): Promise<void> {
    const begin = async () => {
      const [address, opened] = [await url(), await state.open()];
      this.#again = () => this.#begin(address, opened);
      this.#again();
    };
    let opening: Promise<void> | undefined;
    this.#ready = () => {
      // After a failure the next caller tries again.
      opening ??= begin().catch((error: unknown) => {
        opening = undefined;
        throw error;
      });
      return opening;
    };
    const auths = this.#config.backends.flatMap((backend) => authOf(backend) ?? []);
    if (auths.some(({ implied }) => implied !== true) || (auths.length > 0 && state.isThere)) await this.#ready();
  }

  #begin(url: string, { records, seal, outwardFetch }: OpenState): void {
    const { time, warn, authenticator, consented } = this.#outside;
    const [publicUrl = url] = basesOf(this.#config.identity, url);
    const backends = this.#config.backends.flatMap((backend) => {
      const auth = authOf(backend);
      return auth === undefined || backend.kind !== 'http' ? [] : [[backend.name, { url: backend.url, auth }] as const];
    });
    const trusted: TrustedFetch = (address, init) => fetch(address, init);
    const outside = { time, outward: outwardFetch, trusted };
    const credentials = createCredentials(
      { publicUrl, backends: Object.fromEntries(backends) },
      {
        records,
        lease: new RecordLease(records, () => time.now()),
        bus: new MemoryBus(),
        ...outside,
        warn,
      },
    );
    this.#credentials?.close();
    this.#credentials = credentials;
    const { consents } = credentials;
    const ownSignIn = this.#ownSignIn(publicUrl);
    const clients = this.#config.identity.issuers.flatMap(({ issuer, signIn }) =>
      signIn === undefined ? [] : [{ issuer, ...signIn }],
    );
    this.#mounted = mountConnectPages({
      publicUrl,
      consents: {
        find: (id) => consents.find(id),
        authorizationUrl: (id) => consents.authorizationUrl(id),
        complete: async (id, parameters) => {
          const { backend, principal } = await consents.complete(id, parameters);
          consented(backend, principal.key);
        },
      },
      seal,
      keyOf: (secret) => authenticator.keyOf(secret),
      ...(ownSignIn && { ownSignIn }),
      ...(clients.length > 0 && {
        foreignSignIn: openIdSignIn(clients, {
          fetchFor: (issuer) => new GuardedFetch({ url: issuer }, outside).fetch,
          now: () => time.now(),
        }),
      }),
      now: () => time.now(),
      random: () => randomBytes(32).toString('base64url'),
      warn,
    });
    const document = clientDocument(publicUrl);
    this.#document = document && JSON.stringify(document);
  }

  close(): void {
    this.#closing.abort();
    this.#credentials?.close();
  }

  #ownSignIn(issuer: string): OwnSignIn | undefined {
    if (this.#config.authServer === undefined) return undefined;
    const { authority } = this.#outside;
    return {
      issuer,
      signedIn: async (cookies) => {
        const subject = await authority.signedIn(cookies);
        return subject === undefined ? undefined : JSON.stringify(['token', issuer, subject]);
      },
      signInUrl: (returnTo) => authority.signInUrl(returnTo),
    };
  }

  /** Presents the credentials that the principal has at that moment. */
  #credentialProvider(backend: string, of: () => Principal): CredentialProvider {
    const credentialProvider = (): CredentialProvider | undefined => {
      const principal = of();
      return this.#credentials?.credentialProviderFor(
        backend,
        principal,
        this.#outside.authenticator.tokenOf(principal),
      );
    };
    return {
      headers: () => credentialProvider()?.headers() ?? nothing,
      refused: async (refusal) => {
        await this.#ready();
        const found = credentialProvider();
        if (found === undefined) throw new Failure('backend_unauthorized');
        return found.refused(refusal);
      },
    };
  }
}

/** No credentials until the backend challenges. */
const nothing: CredentialHeaders = {};
/** Shared credentials belong to the person who runs the gateway, who consents for all. */
const whoeverRunsUs = localPrincipal();

function authOf(backend: BackendConfig): BackendAuth | undefined {
  return backend.kind === 'http' ? backend.auth : undefined;
}
