/**
 * The bundled authorization server: local users, their consent, and tokens for exactly this gateway's endpoints.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JSONWebKeySet } from 'jose';
import type { ErrorOut, KoaContextWithOIDC, Provider } from 'oidc-provider';
import { ClientAddresses } from '../../downstream/callers.ts';
import type { Claims } from '../../identity/principal.ts';
import { page } from '../../web/frame.ts';
import { OpenIdProvider } from '../openid/provider.ts';
import { Accounts } from './accounts.ts';
import { clientCollection, interactionCollection } from './adapter.ts';
import { AdmissionLimit, ByAddress, keepClient } from './admission.ts';
import { CompanyPeople } from './company/people.ts';
import { CompanySignIn } from './company/sign-in.ts';
import type { Directory } from './directory.ts';
import { FormTokens } from './forms.ts';
import { Holdings } from './holdings.ts';
import { Interactions } from './interactions.ts';
import { loadKeys } from './keys.ts';
import { authServerLimits as limits } from './limits.ts';
import { show, tell } from './pages/answers.ts';
import { ended, troublePage } from './pages/others.ts';
import { type AuthServerRoute, paths, routeOf } from './paths.ts';
import type { AuthServerOutside } from './ports.ts';
import { createProvider } from './provider.ts';
import { Resources } from './resources.ts';
import { ScopeBook } from './scopes.ts';
import type { AuthServerSettings, Resource } from './settings.ts';
import { SignIn } from './sign-in.ts';
import { Users } from './users.ts';

export interface AuthServerOptions {
  /** Scheme, host and port by which clients know us: the issuer of every token. */
  readonly issuer: string;
  readonly settings: AuthServerSettings;
  /** The endpoints that accept tokens. The first is the default for clients that do not name a resource. */
  readonly resources: readonly Resource[];
  /** Addresses or CIDR ranges of proxies that we trust to report the address of their client. */
  readonly trustedProxies: readonly string[];
}

export interface AuthServer {
  readonly issuer: string;
  /** The public keys, for verifying our tokens. */
  jwks(): JSONWebKeySet;
  /** Serves a request whose path is ours (`routeOf`). Never rejects. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void>;
  /** The groups of a user: those of the user file, or those that the provider last named. */
  groupsOf(name: string): readonly string[] | Promise<readonly string[]>;
  /** The groups of the holder of a token. */
  groupsIn(claims: Claims): readonly string[];
  /** The user whom the browser with these cookies is signed in as. */
  signedIn(cookies: string | undefined): Promise<string | undefined>;
  close(): void;
}

export async function createAuthServer(options: AuthServerOptions, outside: AuthServerOutside): Promise<AuthServer> {
  const { issuer, settings } = options;
  const { records, time, warn, attempts } = outside;
  const keys = await loadKeys(records, time.now(), settings.tokenTtlMs);
  const callers = new ClientAddresses(options.trustedProxies);
  const { directory, company } = peopleOf(options, outside, callers);
  const resources = new Resources(options.resources);
  const scopes = new ScopeBook(options.resources, settings.scopes);
  // People who signed in elsewhere are not asked for longer than tokens go on without the provider.
  const signedInMs = company === undefined ? limits.signedInMs : limits.unconfirmedMs;
  const { documentsPerAddress: most, documentsWithinMs: withinMs } = limits;
  const documents = new ByAddress({ kind: 'document', most, withinMs }, attempts, callers);
  const clients = new Holdings(records, clientCollection);
  const open = new Holdings(records, interactionCollection);
  const provider = await createProvider({
    issuer,
    settings,
    outside,
    keys,
    resources,
    scopes,
    directory,
    signedInMs,
    carriesGroups: company !== undefined,
    holdings: new Map([
      ['Client', clients],
      ['Interaction', open],
    ]),
    networkOf: (req) => callers.siteOf(req),
    mayFetch: async ({ req }) => (await documents.wait(req)) === 0,
    showError,
  });
  listen(provider, outside, (id) => keepClient(id, time.now() + settings.refreshTtlMs, records, clients));
  const tokens = new FormTokens(keys.cookie);
  const users = directory instanceof Users ? directory : noUsers;
  const shared = { signIn: new SignIn(users, attempts), callers, refused: outside.refused, directory, company };
  const home = new URL(issuer);
  const accounts = new Accounts({
    ...shared,
    provider,
    tokens,
    issuer: home,
    signedInMs,
  });
  const server = new Server({
    issuer: home,
    provider,
    registrations: new AdmissionLimit('registration', attempts, callers, clients),
    authorizations: new AdmissionLimit('authorization', attempts, callers, open),
    interactions: new Interactions({ ...shared, provider, tokens, scopes, resources }),
    accounts,
    company,
    scopes,
    resources,
    warn,
  });
  return {
    issuer,
    jwks: () => keys.published,
    handle: (req, res, path) => server.handle(req, res, path),
    signedIn: (cookies) => accounts.who(cookies),
    groupsOf: (name) => directory.groupsOf(name),
    groupsIn: ({ sub, groups }) =>
      company === undefined && typeof sub === 'string' ? users.groupsOf(sub) : texts(groups),
    close: () => directory.close(),
  };
}

/** A directory for sign-in with passwords where there are none. */
const noUsers = { find: () => undefined, groupsOf: () => [] };

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

interface SignInPlaces {
  readonly directory: Directory;
  readonly company: CompanySignIn | undefined;
}

function peopleOf(
  { issuer, settings }: AuthServerOptions,
  outside: AuthServerOutside,
  callers: ClientAddresses,
): SignInPlaces {
  const { time, warn, attempts } = outside;
  const { userFile, company } = settings;
  if (company === undefined) {
    return { directory: new Users({ file: outside.userFileAt(userFile ?? ''), time, warn }), company: undefined };
  }
  const provider = new OpenIdProvider(company, {
    fetch: outside.providerFetch(company.issuer),
    now: () => time.now(),
  });
  const keptMs = settings.refreshTtlMs + limits.usedClientExtraMs;
  const people = new CompanyPeople({ settings: company, provider, flights: outside.flights, keptMs }, outside);
  const { providerStepsPerAddress: most, providerStepsWithinMs: withinMs } = limits;
  const steps = new ByAddress({ kind: 'provider', most, withinMs }, attempts, callers);
  const parts = { issuer: new URL(issuer), settings: company, provider, people, steps };
  return { directory: people, company: new CompanySignIn(parts, outside) };
}

/** Logs the library's errors by name and code only, never with what a client sent. */
function listen(provider: Provider, { warn }: AuthServerOutside, used: (clientId: string) => Promise<void>): void {
  const report = (error: unknown) => {
    const kind = error instanceof Error ? error.name : 'unknown';
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    warn('the authorization server failed', { kind, ...(code !== undefined && { code }) });
  };
  provider.on('server_error', (_context, error) => report(error));
  // The library's types leave out the events of the server below it.
  (provider as EventEmitter).on('error', report);
  provider.on('grant.success', (context) => {
    const clientId = context.oidc.client?.clientId;
    if (clientId !== undefined) used(clientId).catch(report);
  });
}

function showError(context: KoaContextWithOIDC, out: ErrorOut): void {
  const { headers, html } = page(troublePage(context.status, out));
  context.set(headers);
  context.body = html;
}

interface ServerParts {
  readonly issuer: URL;
  readonly provider: Provider;
  readonly registrations: AdmissionLimit;
  readonly authorizations: AdmissionLimit;
  readonly interactions: Interactions;
  readonly accounts: Accounts;
  readonly company: CompanySignIn | undefined;
  readonly scopes: ScopeBook;
  readonly resources: Resources;
  readonly warn: AuthServerOutside['warn'];
}

class Server {
  readonly #parts: ServerParts;
  readonly #library: ReturnType<Provider['callback']>;

  constructor(parts: ServerParts) {
    this.#parts = parts;
    this.#library = parts.provider.callback();
  }

  async handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    const route = routeOf(path);
    try {
      if (route === undefined) tell(res, 404, { error: 'not_found', error_description: 'this path does not exist' });
      else if (!route.methods.includes(req.method ?? '')) refuseMethod(res, route);
      else if (isOverlong(req, route)) refuseLength(res);
      else await this.#serve(req, res, path, route);
    } catch (error) {
      this.#parts.warn('the authorization server failed', { kind: error instanceof Error ? error.name : 'unknown' });
      if (res.headersSent) res.destroy();
      else show(res, troublePage(500, { error: 'server_error' }));
    }
  }

  async #serve(req: IncomingMessage, res: ServerResponse, path: string, route: AuthServerRoute): Promise<void> {
    const { issuer, registrations, authorizations, interactions, accounts } = this.#parts;
    atHome(req, issuer);
    // Pass on the path as we routed it, so that the library cannot parse it differently.
    req.url = `${path}${(req.url ?? '').replace(/^[^?]*/, '')}`;
    if (route.kind === 'page') {
      if (isForeignForm(req)) return show(res, ended);
      if (route.id !== undefined) return interactions.handle(req, res, route.id);
      return path === paths.signIn ? accounts.signIn(req, res) : accounts.signOut(req, res);
    }
    if (route.kind === 'returned') return this.#arrive(req, res);
    if (route.kind === 'authorize') {
      if (!(await authorizations.admits(req, res))) return;
      req.url = withUsualScope(req.url, this.#parts);
    }
    if (route.kind === 'register' && !(await registrations.admits(req, res))) return;
    await this.#library(req, res);
  }

  /** A person comes from the company's provider. */
  async #arrive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { interactions, accounts, company } = this.#parts;
    if (company === undefined) return show(res, ended);
    const arrived = await company.arrive(req, res);
    if (arrived === undefined) return;
    const { name, purpose } = arrived;
    if (purpose.kind === 'client') return interactions.arrived(res, purpose.interaction, name);
    return accounts.enter(req, res, name, purpose.back);
  }
}

function isOverlong(req: IncomingMessage, { kind }: AuthServerRoute): boolean {
  const most = kind === 'register' ? limits.registrationBytes : limits.requestBytes;
  const chars = kind === 'authorize' ? limits.authorizeChars : limits.queryChars;
  return (req.url ?? '').length > chars || Number(req.headers['content-length'] ?? 0) > most;
}

function refuseMethod(res: ServerResponse, { methods }: AuthServerRoute): void {
  const error_description = `only ${methods.join(' and ')} here`;
  tell(res, 405, { error: 'method_not_allowed', error_description }, { allow: methods.join(', ') });
}

function refuseLength(res: ServerResponse): void {
  tell(res, 413, { error: 'invalid_request', error_description: 'the request is too large' });
}

/**
 * The library builds URLs from the request's headers. Set them from the issuer, whatever name a proxy used or a client
 * made up.
 */
function atHome(req: IncomingMessage, issuer: URL): void {
  for (const name of Object.keys(req.headers)) if (name.startsWith('x-forwarded-')) delete req.headers[name];
  req.headers.host = issuer.host;
  req.headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
  // `Origin` was checked before this point.
  delete req.headers.origin;
}

/** Adds the default scope. OAuth lets the server have one, but the library refuses a request without a known scope. */
function withUsualScope(url: string, { scopes, resources }: ServerParts): string {
  const at = url.indexOf('?');
  const query = new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
  // The library reports a duplicate parameter.
  if (query.getAll('scope').length > 1) return url;
  const named = query.getAll('resource');
  const resource = resources.find(named.length === 0 ? resources.usual : named[0])?.resource;
  query.set('scope', scopes.asked(query.get('scope') ?? undefined, resource));
  return `${paths.authorize}?${query}`;
}

/**
 * Whether a page of a different site posted the form. Browsers send `Sec-Fetch-Site` to trustworthy origins, which all
 * of ours are. A foreign page must not even sign a person in to an account of the attacker.
 */
function isForeignForm(req: IncomingMessage): boolean {
  const site = req.headers['sec-fetch-site'];
  return req.method === 'POST' && site !== undefined && site !== 'same-origin';
}
