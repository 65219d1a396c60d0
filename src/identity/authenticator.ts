/**
 * Authenticates requests per endpoint, as one config says. Every transport uses it. A request to an unknown endpoint is
 * always refused.
 */
import { Failure } from '../errors/failure.ts';
import { basesOf, type EndpointAuth, type GuardedAuth } from './auth-metadata.ts';
import { refusalOf } from './challenge.ts';
import { withCredential } from './client-credential.ts';
import type { IdentityServices } from './create.ts';
import { anybody } from './identify.ts';
import {
  type MetadataRoute,
  metadataDocument,
  metadataPrefix,
  metadataRoutes,
  type ProtectedResourceMetadata,
} from './metadata.ts';
import type { AuthContext, Credentials, PresentedCredentials, Principal, ScopedOperation } from './principal.ts';
import type { GuardSettings, IdentitySettings, IssuerSettings } from './settings.ts';

export interface Entrance {
  /** All paths of the endpoint, its own first. */
  readonly paths: readonly string[];
  readonly identity: GuardSettings;
}

/** The paths of single servers. `/mcp` stands for all transports of one. */
const serverPath = /^\/servers\/[^/]+\/mcp$/;

function pathsAt(path: string): readonly string[] {
  return ['mcp', 'sse', 'messages'].map((end) => path.replace(/mcp$/, end));
}

/** A refused request, for the log and the audit trail. */
export interface RefusedEntry {
  /** The endpoint's path. */
  readonly path: string;
  readonly failure: Failure;
  /** Set if the principal is known but its scopes are insufficient. */
  readonly principal?: Principal | undefined;
  /** For the client's address. */
  readonly credentials: Credentials;
}

export class Authenticator {
  readonly #room: IdentityServices;
  readonly #onRefused: (refused: RefusedEntry) => void;
  #guards: ReadonlyMap<string, EndpointAuth> = new Map();
  #documents: ReadonlyMap<string, MetadataRoute> = new Map();
  /** The authentication of some `/servers/.../mcp` endpoint, used for servers that do not exist. */
  #server: GuardedAuth | undefined;
  #isOpened = false;

  constructor(room: IdentityServices, onRefused: (refused: RefusedEntry) => void = () => undefined) {
    this.#room = room;
    this.#onRefused = onRefused;
  }

  /**
   * Starts authentication. `listening` is our address without a path, since tokens are issued for an address. `own` is
   * the bundled authorization server, if there is one.
   */
  open(settings: IdentitySettings, entrances: readonly Entrance[], listening: string, own?: IssuerSettings): void {
    if (own !== undefined) this.#room.trust(own);
    const bases = basesOf(settings, listening);
    const guarded: GuardedAuth[] = [];
    const guards = new Map<string, EndpointAuth>();
    for (const { paths, identity } of entrances) {
      const guard = this.#room.guardFor(identity, bases, paths);
      guards.set(paths[0] ?? '', guard);
      if (guard.kind === 'guarded') guarded.push(guard);
    }
    this.#guards = guards;
    this.#server = guarded.find(({ paths: [path = ''] }) => serverPath.test(path));
    this.#isOpened = true;
    this.#documents = metadataRoutes(guarded);
  }

  /** The principal that started us over stdio. */
  get local(): Principal {
    return this.#room.local;
  }

  /** The principals of access keys, whether or not they have sent a request. */
  get keyHolders(): readonly Principal[] {
    return this.#room.identity.keyHolders;
  }

  /**
   * Whether the endpoint still admits principals of this kind and issuer. Expiry is not checked, because a session
   * outlives the token that opened it: every message is authenticated by itself, and streams use `stillGood`.
   */
  admits(path: string, { kind, issuer = '' }: Principal): boolean {
    const guard = this.#guards.get(path);
    if (guard === undefined) return false;
    if (guard.kind === 'open') return kind === 'local';
    return kind === 'key' ? guard.keys : kind === 'token' && guard.authorizationServers.includes(issuer);
  }

  /** Returns a value, not a promise, unless an issuer must be contacted. Never throws or rejects. */
  identify(path: string, credentials: Credentials): Principal | Failure | Promise<Principal | Failure> {
    if (credentials === 'local') return this.#room.local;
    const guard = this.#guards.get(path);
    const { forBackend } = credentials;
    if (guard?.kind === 'open') return forBackend === undefined ? anybody : withCredential(anybody, forBackend);
    if (guard === undefined) return this.#isOpened ? this.#nowhere(path, credentials) : starting();
    const found = this.#room.identity.identify(credentials, guard);
    if (found instanceof Promise) return found.then((late) => this.#noted(late, path, credentials));
    return this.#noted(found, path, credentials);
  }

  #noted(found: Principal | Failure, path: string, credentials: PresentedCredentials): Principal | Failure {
    if (found instanceof Failure) this.#onRefused({ path, failure: found, credentials });
    else if (credentials.forBackend !== undefined) return withCredential(found, credentials.forBackend);
    return found;
  }

  /** For a server that does not exist: an unauthenticated sender gets the same failure as at one that does. */
  async #nowhere(path: string, credentials: PresentedCredentials): Promise<Failure> {
    const guard = this.#guardAt(path);
    if (guard === undefined) return new Failure('path_not_found');
    const who = this.#noted(await this.#room.identity.identify(credentials, guard), path, credentials);
    return who instanceof Failure ? who : new Failure('path_not_found');
  }

  #guardAt(path: string): EndpointAuth | undefined {
    return (
      this.#guards.get(path) ??
      (this.hides(path) && this.#server ? { ...this.#server, paths: pathsAt(path) } : undefined)
    );
  }

  /** True if there is no such server, and unauthenticated senders must not learn that. */
  hides(path: string): boolean {
    return this.#server !== undefined && serverPath.test(path) && !this.#guards.has(path);
  }

  /**
   * Whether the sender may see the names of backends: true if its credentials are valid at some endpoint. Undefined if
   * no endpoint requires credentials.
   */
  async mayKnow(credentials: Credentials): Promise<boolean | undefined> {
    const who = await this.anywhere(credentials);
    return who && !(who instanceof Failure);
  }

  /** The principal of credentials that are valid at some endpoint. Undefined if no endpoint requires credentials. */
  async anywhere(credentials: Credentials): Promise<Principal | Failure | undefined> {
    if (credentials === 'local') return this.#room.local;
    let refused: Failure | undefined;
    for (const guard of this.#guards.values()) {
      if (guard.kind === 'open') continue;
      const who = await this.#room.identity.identify(credentials, guard);
      if (!(who instanceof Failure)) return who;
      refused = who;
      // Credentials for another endpoint have the wrong audience here, or are an unknown key. Any other failure is the
      // same at every endpoint.
      if (!who.reason.startsWith('audience_') && who.reason !== 'key_unknown') break;
    }
    return refused;
  }

  /** Adds status and challenge to a failure of `identify`, for the response. */
  told(path: string, failure: Failure, credentials: Credentials, asked: AuthContext): Failure {
    const guard = this.#guardAt(path);
    if (guard === undefined || guard.kind === 'open' || credentials === 'local') return failure;
    return refused(failure, guard, credentials, asked);
  }

  /** Whether some operation at the endpoint needs a scope. */
  demandsScopes(path: string): boolean {
    const guard = this.#guards.get(path);
    return guard !== undefined && guard.kind !== 'open' && !guard.scopes.isEmpty;
  }

  /** Checks the scopes of an operation. The failure names all scopes that it needs. */
  check(path: string, principal: Principal, credentials: Credentials, operation: ScopedOperation): Failure | undefined {
    const guard = this.#guards.get(path);
    if (guard === undefined || guard.kind === 'open') return undefined;
    const failure = guard.scopes.check(principal, operation);
    if (failure !== undefined) this.#onRefused({ path, failure, principal, credentials });
    // stdio has no HTTP status or challenge.
    if (credentials === 'local') return failure;
    const asked: AuthContext = { kind: operation.method === undefined ? 'other' : 'request', operation };
    return failure && refused(failure, guard, credentials, asked);
  }

  /** Whether the credentials behind an open stream are still valid. */
  stillGood(principal: Principal): boolean {
    return this.#room.identity.stillGood(principal.holder ?? principal);
  }

  /** The key of the principal with this access key, at whichever endpoint the access key is accepted. */
  keyOf(secret: string): string | undefined {
    return this.holderOf(secret)?.key;
  }

  /** The principal with this access key. */
  holderOf(secret: string): Principal | undefined {
    return this.#room.identity.holderOf(secret);
  }

  /** The token that the principal presented. It is exchanged for other tokens, and never passed on. */
  tokenOf(principal: Principal): string | undefined {
    return this.#room.identity.tokenOf(principal);
  }

  /** The metadata document at that path, if there is one. */
  document(path: string, host: string | undefined): ProtectedResourceMetadata | undefined {
    const plain = path.endsWith('/') ? path.slice(0, -1) : path;
    const route = this.#documents.get(plain);
    if (route !== undefined) return metadataDocument(route.guard, { path: route.path, host });
    const hidden = plain.startsWith(metadataPrefix) ? plain.slice(metadataPrefix.length) : '';
    const guard = this.#guardAt(hidden.replace(/\/(?:sse|messages)$/, '/mcp'));
    return guard?.kind === 'guarded' ? metadataDocument(guard, { path: hidden, host }) : undefined;
  }

  /** The header besides `Authorization` that a browser may send to the endpoint. */
  keyHeader(path: string): string | undefined {
    const guard = this.#guards.get(path);
    return guard?.kind === 'guarded' ? guard.keyHeader : undefined;
  }
}

/** Clients take 404 for the end of their session or a wrong address. During start-up it is neither. */
function starting(): Failure {
  return new Failure('starting', { http: { headers: { 'Retry-After': '1' } } });
}

function refused(
  failure: Failure,
  guard: GuardedAuth,
  { url = '', rawHeaders }: Exclude<Credentials, 'local'>,
  asked: AuthContext,
): Failure {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  const { status, headers, withoutId } = refusalOf(failure, guard, { ...asked, path, host: hostIn(rawHeaders) });
  return new Failure(failure.reason, {
    message: failure.message,
    ...(failure.data && { data: failure.data }),
    cause: failure.cause,
    http: { status, headers, nullId: withoutId === 'null' },
  });
}

function hostIn(rawHeaders: readonly string[]): string | undefined {
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return at === -1 ? undefined : rawHeaders[at + 1];
}
