/**
 * Connects OAuth towards backends to the gateway: credentials that are presented on behalf of people, consent pages,
 * and waiting for consent.
 */
import { randomBytes } from 'node:crypto';
import type { BackendConfig, Config } from '../config/config.ts';
import { hasIdentity } from '../config/console.ts';
import type { Pages } from '../downstream/mounted-paths.ts';
import { Failure } from '../errors/failure.ts';
import { basesOf } from '../identity/auth-metadata.ts';
import { localPrincipal, type Principal } from '../identity/principal.ts';
import type { BackendAccount } from '../oauth/client/accounts.ts';
import { clientDocument } from '../oauth/client/client-document.ts';
import { createCredentials, type OAuthCredentials } from '../oauth/client/create.ts';
import type { CredentialHeaders, CredentialProvider } from '../oauth/client/credential-provider.ts';
import { GuardedFetch } from '../oauth/client/guarded-fetch.ts';
import { mountConnectPages } from '../oauth/client/pages/create.ts';
import { openIdSignIn } from '../oauth/client/pages/openid.ts';
import type { ConnectPorts } from '../oauth/client/pages/ports.ts';
import type { TrustedFetch } from '../oauth/client/ports.ts';
import { accountsPath, type BackendAuthSettings, clientDocumentPath } from '../oauth/client/settings.ts';
import { SingleFlight } from '../oauth/client/single-flight.ts';
import type { AuthServerOutside } from '../oauth/server/ports.ts';
import type { WallClock, Warn } from '../observe/ports.ts';
import type { RefusalLog } from '../observe/refusals.ts';
import type { Generation } from '../pipeline/generation.ts';
import type { ConsentWaiter } from '../pipeline/interceptors/consent.ts';
import type { AttemptCounts } from '../store/counts.ts';
import type { StoreEngine } from '../store/engine.ts';
import { MemoryBus } from '../store/memory.ts';
import type { Bus, Lease } from '../store/ports.ts';
import { RecordLease } from '../store/record-lease.ts';
import type { PresentedTo } from '../upstream/create-backend.ts';
import type { Mounted } from '../web/mount.ts';
import type { AuthServerHost } from './auth-server-host.ts';
import { isSame } from './reload/is-same.ts';
import type { OpenState, Storage } from './storage.ts';

/** OAuth towards the backends of one config. Part of its generation. */
export interface BackendOAuth {
  readonly settings: OAuthSettings;
  /** Absent where no backend needs credentials other than the config's headers. */
  readonly consenting: ConsentWaiter | undefined;
  /** Set once, when storage is open: at once, or when a backend first demands credentials. */
  opened?: OpenBackendOAuth;
}

interface OpenBackendOAuth {
  readonly credentials: OAuthCredentials;
  readonly pages: Mounted;
  readonly document: string | undefined;
}

/** The parts of a config that this depends on. */
interface OAuthSettings {
  readonly identity: Config['identity'];
  readonly isAuthServer: boolean;
  readonly backends: Readonly<Record<string, BackendAuthSettings>>;
}

export interface UpstreamOAuthPorts {
  readonly currentGeneration: {
    readonly now: Pick<Generation, 'authenticator' | 'addresses' | 'backends'> & { readonly oauth: BackendOAuth };
  };
  readonly authority: AuthServerHost;
  readonly time: WallClock;
  readonly refusals: RefusalLog;
  readonly warn: Warn;
  readonly attempts: AttemptCounts;
  /** Absent: leases are records, and messages reach this process alone. */
  readonly store?: StoreEngine | undefined;
}

/** `url`: where people find our pages. */
type OpenStorage = OpenState & { readonly url: string };

export class UpstreamOAuth {
  readonly #ports: UpstreamOAuthPorts;
  #storage: OpenStorage | undefined;
  /** For all credential providers: whether `#storage` is there. */
  readonly #stored = { isOpen: false };
  /** Shared by all generations, so that a call that waits hears of the consent at once. */
  readonly #bus: Bus;
  #ready: () => Promise<void> = async () => undefined;
  readonly #closing = new AbortController();
  readonly #waiting: ConsentWaiter = {
    pendingPage: async (backend, principal) => this.#opened?.credentials.pendingPage(backend, principal),
    waitFor: async (id, ms, signal) => {
      const until = AbortSignal.any([signal, this.#closing.signal]);
      const waited = await this.#opened?.credentials.consents.waitFor(id, ms, until);
      return waited === undefined || this.#closing.signal.aborted ? new Failure('shutting_down') : waited;
    },
  };

  constructor(ports: UpstreamOAuthPorts) {
    this.#ports = ports;
    this.#bus = ports.store?.bus ?? new MemoryBus();
  }

  get #opened(): OpenBackendOAuth | undefined {
    return this.#ports.currentGeneration.now.oauth.opened;
  }

  /** For a new generation: that of the previous one, where nothing has changed. */
  of(config: Config, before?: BackendOAuth): BackendOAuth {
    const settings = settingsOf(config);
    if (before !== undefined && isSame(before.settings, settings)) return before;
    const consenting = Object.keys(settings.backends).length === 0 ? undefined : this.#waiting;
    const opened = this.#storage && this.#open(settings, this.#storage);
    return { settings, consenting, ...(opened && { opened }) };
  }

  /** Nothing is served before storage is open. */
  readonly pages: Pages = {
    owns: (path) =>
      path === clientDocumentPath ? this.#opened?.document !== undefined : this.#opened?.pages.owns(path) === true,
    handle: async (req, res, path) => {
      if (path !== clientDocumentPath) this.#opened?.pages.handle(req, res);
      else {
        res.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'max-age=300' });
        res.end(req.method === 'HEAD' ? undefined : this.#opened?.document);
      }
    },
  };

  presentedTo(backend: BackendConfig): PresentedTo | undefined {
    if (backend.kind !== 'http' || backend.auth === undefined) return undefined;
    const { name, auth } = backend;
    if (auth.shared) return { kind: 'shared', credentialProvider: this.#credentialProvider(name, () => whoeverRunsUs) };
    return { kind: 'personal', credentialProviderFor: (current) => this.#credentialProvider(name, current) };
  }

  /**
   * Called once the address that we listen on is known, and before any request to a backend. Rejects with a StoreError.
   */
  async open(url: () => Promise<string>, state: Storage): Promise<void> {
    const begin = async () => {
      const [address, opened] = [await url(), await state.open()];
      this.#storage = { ...opened, url: address };
      const { oauth } = this.#ports.currentGeneration.now;
      oauth.opened = this.#open(oauth.settings, this.#storage);
      this.#stored.isOpen = true;
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
    const auths = Object.values(this.#ports.currentGeneration.now.oauth.settings.backends).map(({ auth }) => auth);
    if (auths.some(({ implied }) => implied !== true) || (auths.length > 0 && state.isThere)) await this.#ready();
  }

  /** What the bundled authorization server needs to ask a provider. */
  forProvider(state: OpenState): Pick<AuthServerOutside, 'providerFetch' | 'flights'> {
    const { time } = this.#ports;
    return {
      providerFetch: (issuer) => new GuardedFetch({ url: issuer }, this.#fetching(state)).fetch,
      flights: new SingleFlight({ lease: this.#lease(state), bus: this.#bus, time }),
    };
  }

  #fetching({ outwardFetch }: OpenState) {
    const trusted: TrustedFetch = (address, init) => fetch(address, init);
    return { time: this.#ports.time, outward: outwardFetch, trusted };
  }

  #lease({ records }: OpenState): Lease {
    return this.#ports.store?.lease ?? new RecordLease(records, () => this.#ports.time.now());
  }

  #open({ identity, isAuthServer, backends }: OAuthSettings, storage: OpenStorage): OpenBackendOAuth {
    const { time, warn, refusals, currentGeneration, authority, attempts } = this.#ports;
    const { url, records, seal } = storage;
    const [publicUrl = url] = basesOf(identity, url);
    const outside = this.#fetching(storage);
    const stored = { records, lease: this.#lease(storage), bus: this.#bus };
    const credentials = createCredentials({ publicUrl, backends }, { ...stored, ...outside, warn });
    const { consents } = credentials;
    const clients = identity.issuers.flatMap(({ issuer, signIn }) =>
      signIn === undefined ? [] : [{ issuer, ...signIn }],
    );
    const ports: ConnectPorts = {
      publicUrl,
      consents: {
        find: (id) => consents.find(id),
        authorizationUrl: (id) => consents.authorizationUrl(id),
        complete: async (id, parameters) => {
          const { backend, principal } = await consents.complete(id, parameters);
          // The backend may now accept what it refused to this principal.
          currentGeneration.now.backends.get(backend)?.lookAgain?.(principal.key);
        },
      },
      seal,
      keyOf: (secret) => currentGeneration.now.authenticator.keyOf(secret),
      people: {
        ...(!hasIdentity(identity, isAuthServer) && { local: whoeverRunsUs }),
        ...(isAuthServer && { user: (cookies) => authority.userOf(cookies) }),
        ...(identity.keyFile !== undefined && {
          holder: (secret) => currentGeneration.now.authenticator.holderOf(secret),
        }),
        accounts: (principal) => this.#askedAccounts(principal),
      },
      ...(isAuthServer && { ownSignIn: authority.signIn(publicUrl) }),
      ...(clients.length > 0 && {
        foreignSignIn: openIdSignIn(clients, {
          fetchFor: (issuer) => new GuardedFetch({ url: issuer }, outside).fetch,
          now: () => time.now(),
        }),
      }),
      attempts,
      now: () => time.now(),
      random: () => randomBytes(32).toString('base64url'),
      // Without the id of a consent, which belongs to its person alone.
      refused: (failure, address) => refusals.tell({ failure, address, path: accountsPath }),
      warn,
    };
    const pages = mountConnectPages(ports, { clientAddress: (req) => currentGeneration.now.addresses.of(req) });
    const document = clientDocument(publicUrl);
    return { credentials, pages, document: document && JSON.stringify(document) };
  }

  /** What the principal has at each backend for which people consent. Never rejects. */
  async accountsOf(principal: Principal): Promise<readonly BackendAccount[]> {
    return (await this.#opened?.credentials.accountsOf(principal)) ?? [];
  }

  /** The same, after the backends without an account were asked: what they refuse opens a consent. */
  async #askedAccounts(principal: Principal): Promise<readonly BackendAccount[]> {
    const accounts = await this.accountsOf(principal);
    const absent = accounts.filter(({ state, shared }) => state === 'none' && (!shared || principal.kind === 'local'));
    if (absent.length === 0) return accounts;
    const { backends } = this.#ports.currentGeneration.now;
    const asking = absent.map(({ backend }) => backends.of(backend, principal)?.discover());
    let stop: () => void = () => undefined;
    const late = new Promise<void>((resolve) => {
      stop = this.#ports.time.after(ASK_MS, resolve);
    });
    await Promise.race([Promise.allSettled(asking), late]);
    stop();
    return this.accountsOf(principal);
  }

  /** Ends the calls that wait for consent. */
  close(): void {
    this.#closing.abort();
  }

  /** Presents the credentials that the principal has at that moment. */
  #credentialProvider(backend: string, of: () => Principal): CredentialProvider {
    const provider = (): CredentialProvider | undefined => {
      if (this.#opened === undefined) return undefined;
      const principal = of();
      const token = this.#ports.currentGeneration.now.authenticator.tokenOf(principal);
      return this.#opened.credentials.credentialProviderFor(backend, principal, token);
    };
    return {
      stored: this.#stored,
      headers: () => provider()?.headers() ?? nothing,
      refused: async (refusal) => {
        await this.#ready();
        const found = provider();
        if (found === undefined) throw new Failure('backend_unauthorized');
        return found.refused(refusal);
      },
    };
  }
}

function settingsOf({ identity, authServer, backends }: Config): OAuthSettings {
  const all = backends.flatMap((backend) => {
    if (backend.kind !== 'http' || backend.auth === undefined) return [];
    return [[backend.name, { url: backend.url, auth: backend.auth }] as const];
  });
  return { identity, isAuthServer: authServer !== undefined, backends: Object.fromEntries(all) };
}

/** How long the list of accounts waits for backends to say what they want: a person looks at an empty page. */
const ASK_MS = 5_000;
/** No credentials until the backend challenges. */
const nothing: CredentialHeaders = {};
/** Shared credentials belong to the person who runs the gateway, who consents for all. */
const whoeverRunsUs = localPrincipal();
