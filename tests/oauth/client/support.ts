/**
 * A backend and its authorization server, over real sockets, that do what a test tells them; and a clock that it can
 * move.
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '../../../src/errors/failure.ts';
import { keyPrincipal, type Principal } from '../../../src/identity/principal.ts';
import { createCredentials, type OAuthCredentials } from '../../../src/oauth/client/create.ts';
import type { CredentialHeaders, CredentialProvider } from '../../../src/oauth/client/credential-provider.ts';
import type { CredentialPorts, TrustedFetch } from '../../../src/oauth/client/ports.ts';
import type { BackendAuth, CredentialSettings } from '../../../src/oauth/client/settings.ts';
import { OutwardError } from '../../../src/oauth/fetch/errors.ts';
import type { WallClock } from '../../../src/observe/ports.ts';
import { MemoryBus, MemoryLease } from '../../../src/store/memory.ts';
import type { Bus, Lease, Records } from '../../../src/store/ports.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
  /** Of a form. */
  readonly form: URLSearchParams;
}

export interface Said {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Text is itself, anything else JSON. */
  readonly body?: unknown;
}

export type Page = (asked: Asked) => Said | Promise<Said>;

/** A site whose pages a test writes. Everything that it was asked is kept. */
export class Site {
  readonly pages = new Map<string, Page>();
  readonly log: Asked[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(): Promise<Site> {
    const server = createServer();
    const site = new Site(server);
    server.on('request', (request, response) => {
      void site.#answer(request).then(({ status = 200, headers = {}, body = '' }) => {
        const text = typeof body === 'string' ? body : JSON.stringify(body);
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        response.end(text);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return site;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  asked(path: string): readonly Asked[] {
    return this.log.filter((asked) => asked.path === path);
  }

  get paths(): readonly string[] {
    return this.log.map(({ path }) => path);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage): Promise<Said> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const url = new URL(request.url ?? '/', 'http://site');
    const { method = '', headers } = request;
    const asked = {
      method,
      path: url.pathname,
      query: url.searchParams,
      headers,
      text,
      form: new URLSearchParams(text),
    };
    this.log.push(asked);
    return (await this.pages.get(url.pathname)?.(asked)) ?? { status: 404, body: {} };
  }
}

/** Real time, plus what the test adds. */
export class TestTime implements WallClock {
  #ahead = 0;
  readonly now = (): number => Date.now() + this.#ahead;

  after(ms: number, action: () => void): () => void {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  }

  move(ms: number): void {
    this.#ahead += ms;
  }
}

/** An authorization server that says yes to everything, and remembers; what is wrong with it is up to the test. */
export class TestIssuer {
  readonly site: Site;
  /** Of its metadata; undefined leaves a member out. */
  metadata: Record<string, unknown> = {};
  metadataPath = '/.well-known/oauth-authorization-server';
  lifetime: number | undefined = 3600;
  rotates = true;
  givesRefreshTokens = true;
  /** By the number of the request. */
  tokenAnswer: ((asked: Asked, grant: string) => Said | undefined) | undefined;
  registration: Record<string, unknown> = {};
  registrationAnswer: (() => Said) | undefined;
  /** What it sends people back with. */
  redirect: (parameters: URLSearchParams) => void = () => undefined;
  readonly accessTokens = new Map<string, readonly string[]>();
  readonly #codes = new Map<string, { challenge: string; scope: string | null }>();
  #refreshTokens = new Set<string>();

  constructor(site: Site) {
    this.site = site;
    const { pages } = site;
    for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
      pages.set(path, () => (this.metadataPath === path ? { body: this.document() } : { status: 404, body: {} }));
    }
    pages.set('/register', ({ text }) => this.#register(text));
    pages.set('/authorize', ({ query }) => this.#authorize(query));
    pages.set('/token', (asked) => this.#token(asked));
  }

  static async open(): Promise<TestIssuer> {
    return new TestIssuer(await Site.open());
  }

  get issuer(): string {
    return this.site.origin;
  }

  document(): Record<string, unknown> {
    const { origin } = this.site;
    return {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      code_challenge_methods_supported: ['S256'],
      ...this.metadata,
    };
  }

  tokenRequests(grant: string): readonly Asked[] {
    return this.site.asked('/token').filter(({ form }) => form.get('grant_type') === grant);
  }

  endRefreshTokens(): void {
    this.#refreshTokens = new Set();
  }

  #register(text: string): Said {
    if (this.registrationAnswer !== undefined) return this.registrationAnswer();
    const asked = JSON.parse(text) as Record<string, unknown>;
    const body = { ...asked, client_id: `client-${randomUUID()}`, client_secret: `secret-${randomUUID()}` };
    return { status: 201, body: { client_secret_expires_at: 0, ...body, ...this.registration } };
  }

  #authorize(query: URLSearchParams): Said {
    const code = `code-${randomUUID()}`;
    this.#codes.set(code, { challenge: query.get('code_challenge') ?? '', scope: query.get('scope') });
    const location = new URL(query.get('redirect_uri') ?? '');
    location.searchParams.set('code', code);
    location.searchParams.set('state', query.get('state') ?? '');
    this.redirect(location.searchParams);
    return { status: 302, headers: { location: location.href } };
  }

  #token(asked: Asked): Said {
    const grant = asked.form.get('grant_type') ?? '';
    const told = this.tokenAnswer?.(asked, grant);
    if (told !== undefined) return told;
    if (grant === 'authorization_code') {
      const code = this.#codes.get(asked.form.get('code') ?? '');
      this.#codes.delete(asked.form.get('code') ?? '');
      const proof = createHash('sha256')
        .update(asked.form.get('code_verifier') ?? '')
        .digest('base64url');
      if (code === undefined || code.challenge !== proof) return { status: 400, body: { error: 'invalid_grant' } };
      return this.give(code.scope);
    }
    if (grant === 'refresh_token') {
      const old = asked.form.get('refresh_token') ?? '';
      const known = this.rotates ? this.#refreshTokens.delete(old) : this.#refreshTokens.has(old);
      return known ? this.give(null) : { status: 400, body: { error: 'invalid_grant' } };
    }
    return this.give(asked.form.get('scope'));
  }

  give(scope: string | null): Said {
    const access = `access-${randomUUID()}`;
    const refresh = `refresh-${randomUUID()}`;
    this.accessTokens.set(access, scope?.split(' ') ?? []);
    if (this.givesRefreshTokens) this.#refreshTokens.add(refresh);
    const body = {
      access_token: access,
      token_type: 'Bearer',
      ...(this.lifetime === undefined ? {} : { expires_in: this.lifetime }),
      ...(this.givesRefreshTokens ? { refresh_token: refresh } : {}),
      ...(scope === null ? {} : { scope }),
    };
    return { body };
  }
}

/** A backend that accepts every token of its issuer. */
export class TestBackend {
  readonly site: Site;
  issuer: string;
  metadata: Record<string, unknown> = {};
  /** Undefined: it has none. */
  metadataPath: string | undefined = '/.well-known/oauth-protected-resource/mcp';
  challengeNamesMetadata = true;
  scope: string | undefined;

  constructor(site: Site, issuer: string) {
    this.site = site;
    this.issuer = issuer;
    const places = ['/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-protected-resource', '/elsewhere'];
    for (const path of places) {
      site.pages.set(path, () => (this.metadataPath === path ? { body: this.document() } : { status: 404, body: {} }));
    }
  }

  get url(): string {
    return `${this.site.origin}/mcp`;
  }

  document(): Record<string, unknown> {
    return { resource: this.url, authorization_servers: [this.issuer], ...this.metadata };
  }

  challenge(more = ''): string {
    const named = this.challengeNamesMetadata && this.metadataPath !== undefined;
    const parts = [
      ...(named ? [`resource_metadata="${this.site.origin}${this.metadataPath}"`] : []),
      ...(this.scope === undefined ? [] : [`scope="${this.scope}"`]),
      ...(more === '' ? [] : [more]),
    ];
    return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`;
  }
}

export interface SharedStore {
  readonly records: Records;
  readonly lease: Lease;
  readonly bus: Bus;
}

export class World {
  readonly time = new TestTime();
  readonly store: SharedStore;
  readonly warnings: string[] = [];
  /** What the guard was asked for, and whether it lets anybody through. */
  readonly outward: string[] = [];
  readonly issuer: TestIssuer;
  readonly backend: TestBackend;
  readonly #open: OAuthCredentials[] = [];

  private constructor(issuer: TestIssuer, backend: TestBackend) {
    this.issuer = issuer;
    this.backend = backend;
    const { now } = this.time;
    this.store = { records: new MemoryRecords(now), lease: new MemoryLease(now), bus: new MemoryBus() };
  }

  static async open(): Promise<World> {
    const issuer = await TestIssuer.open();
    return new World(issuer, new TestBackend(await Site.open(), issuer.issuer));
  }

  readonly trusted: TrustedFetch = (url, init) => fetch(url, init);

  /** As if started anew; the store is what it was. */
  start(auth: Partial<BackendAuth> = {}, more: Partial<CredentialSettings & CredentialPorts> = {}): OAuthCredentials {
    // Everything here is on this machine, each at a port of its own.
    const usual = { grant: 'authorization_code', shared: false, authorizationServers: ['http://127.0.0.1:*'] } as const;
    const settings: CredentialSettings = {
      publicUrl: 'http://127.0.0.1:8000',
      backends: { files: { url: this.backend.url, auth: { ...usual, ...auth } } },
      ...more,
    };
    const credentials = createCredentials(settings, {
      ...this.store,
      time: this.time,
      trusted: this.trusted,
      outward: async (url) => {
        this.outward.push(url);
        throw new OutwardError('address_forbidden', 'no way');
      },
      warn: (text, facts) => this.warnings.push(`${text} ${JSON.stringify(facts)}`),
      ...more,
    });
    this.#open.push(credentials);
    return credentials;
  }

  async close(): Promise<void> {
    for (const credentials of this.#open) credentials.close();
    await this.issuer.site.close();
    await this.backend.site.close();
  }

  refusal(presented: CredentialHeaders, more = '', status = 401) {
    return { status, wwwAuthenticate: [this.backend.challenge(more)], presented };
  }

  /** What a first call comes to, that presents nothing. */
  firstRefusal(credentials: OAuthCredentials, principal: Principal = alice, subjectToken?: string): Promise<Failure> {
    return failureOf(credentials.credentialProviderFor('files', principal, subjectToken)?.refused(this.refusal({})));
  }

  /** A call that is refused until it has what it needs; a person says yes to everything. */
  async connect(credentials: OAuthCredentials, principal: Principal = alice): Promise<CredentialHeaders> {
    const presenter = credentials.credentialProviderFor('files', principal) as CredentialProvider;
    const failure = await this.firstRefusal(credentials, principal);
    if (failure.reason !== 'consent_needed') throw failure;
    await this.agree(credentials, String(failure.data?.elicitationId));
    return presenter.headers();
  }

  /** Goes where the link leads, and comes back. */
  async agree(credentials: OAuthCredentials, id: string): Promise<void> {
    await credentials.consents.complete(id, await this.visit(await credentials.consents.authorizationUrl(id)));
  }

  async visit(url: string): Promise<URLSearchParams> {
    const { headers } = await fetch(url, { redirect: 'manual' });
    return new URL(headers.get('location') ?? '').searchParams;
  }
}

export const alice = keyPrincipal({ id: '1', name: 'alice', scopes: [] });
export const bob = keyPrincipal({ id: '2', name: 'bob', scopes: [] });

/** What it rejects with; anything but a Failure is a fault. */
export async function failureOf(promise: Promise<unknown> | unknown): Promise<Failure> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('it did not fail');
}
