/**
 * A company's OpenID provider: `oidc-provider` without registration and without `resource`, whose people sign in
 * without a password.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { Provider } from 'oidc-provider';
import { onTestFinished } from 'vitest';
import { freePort } from '../harness/ports.ts';
import { Browser, type Visited } from './browser.ts';
import { Setting, type SettingOptions } from './setting.ts';

export interface Person {
  readonly sub: string;
  groups: readonly string[];
  /** Refused from now on. */
  isDisabled: boolean;
  readonly [claim: string]: unknown;
}

export function person(sub: string, more: Partial<Person> = {}): Person {
  return { sub, name: `${sub} of the company`, groups: ['developers'], isDisabled: false, ...more };
}

export interface CompanyOptions {
  readonly people?: readonly Person[];
  readonly givesRefreshTokens?: boolean;
}

const clientSecret = 'a secret between the gateway and the company';

export class Company {
  readonly issuer: string;
  readonly people: ReadonlyMap<string, Person>;
  /** What its token endpoint was asked, and granted. */
  readonly granted: string[] = [];
  readonly #server: Server;

  private constructor(issuer: string, people: ReadonlyMap<string, Person>, server: Server) {
    this.issuer = issuer;
    this.people = people;
    this.#server = server;
  }

  /** Listens at this port, for the gateway with this origin. */
  static async start(port: number, gateway: string, options: CompanyOptions = {}): Promise<Company> {
    const { givesRefreshTokens = true, people = [person('ada'), person('bob')] } = options;
    const known = new Map(people.map((one) => [one.sub, one]));
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://127.0.0.1:${port}`;
    const company = new Company(issuer, known, server);
    const provider = new Provider(issuer, {
      clients: [
        {
          client_id: 'bascule',
          client_secret: clientSecret,
          redirect_uris: [`${gateway}/oauth/sign-in/callback`],
          grant_types: ['authorization_code', 'refresh_token'],
          token_endpoint_auth_method: 'client_secret_post',
          application_type: 'native',
        },
      ],
      claims: { openid: ['sub'], profile: ['name', 'groups', 'hd'] },
      conformIdTokenClaims: false,
      cookies: { keys: ['of the company'] },
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: { enabled: false },
        registration: { enabled: false },
      },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      issueRefreshToken: () => givesRefreshTokens,
      rotateRefreshToken: true,
      findAccount: (_context, sub) => {
        const found = known.get(sub);
        return found === undefined || found.isDisabled ? undefined : { accountId: sub, claims: () => ({ ...found }) };
      },
    });
    provider.on('grant.success', ({ oidc }) => company.granted.push(String(oidc.params?.grant_type)));
    const library = provider.callback();
    server.on('request', async (req, res) => {
      const url = new URL(req.url ?? '', issuer);
      if (!url.pathname.startsWith('/interaction/')) return library(req, res);
      const { prompt, params, session } = await provider.interactionDetails(req, res);
      const as = url.searchParams.get('as');
      if (prompt.name === 'login' && as === null) {
        const links = people.map(({ sub }) => `<a href="${url.pathname}?as=${sub}">${sub}</a>`);
        return res.setHeader('content-type', 'text/html').end(`<h1>Who are you?</h1>${links.join('\n')}`);
      }
      const grant = new provider.Grant({ accountId: session?.accountId ?? '', clientId: String(params.client_id) });
      grant.addOIDCScope(String(params.scope));
      const result =
        prompt.name === 'login' ? { login: { accountId: String(as) } } : { consent: { grantId: await grant.save() } };
      await provider.interactionFinished(req, res, result);
    });
    return company;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Signs in there, and comes back with the address that leads to the gateway. */
  async signIn(address: URL, sub: string, browser = new Browser(this.issuer)): Promise<URL> {
    const asked = await browser.go(address);
    // A browser that is signed in there sees no page.
    if (asked.status === 0) return asked.url;
    return (await browser.go(`${asked.url.origin}${asked.url.pathname}?as=${sub}`)).url;
  }
}

/** The gateway's `provider`. */
export function clientAt(port: number) {
  return { issuer: `http://127.0.0.1:${port}`, clientId: 'bascule', clientSecret, name: 'Example Inc.' };
}

export interface Behind {
  readonly company: Company;
  readonly setting: Setting;
}

export async function behindCompany(
  options: SettingOptions & { readonly company?: CompanyOptions; readonly provider?: object } = {},
): Promise<Behind> {
  const { company: of, provider, ...rest } = options;
  const port = await freePort();
  const named = { ...clientAt(port), ...provider };
  const setting = await Setting.launch({ ...rest, users: [], authServer: { users: undefined, provider: named } });
  const company = await Company.start(port, setting.origin, of);
  onTestFinished(() => company.close());
  return { company, setting };
}

/** From the page that the gateway shows to the page or address after the provider. */
export async function passThrough(company: Company, browser: Browser, page: Visited, sub: string): Promise<Visited> {
  const left = await browser.submit(page, { action: 'allow' });
  if (left.status !== 0) throw new Error(`stayed at ${left.url.pathname}: ${left.status} ${left.text}`);
  return browser.go(await company.signIn(left.url, sub));
}
