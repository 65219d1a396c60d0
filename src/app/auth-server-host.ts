/**
 * Connects the bundled authorization server to the gateway: the pages that it serves, and the issuer that makes its
 * tokens valid here.
 */

import type { Config } from '../config/config.ts';
import type { Pages } from '../downstream/mounted-paths.ts';
import { basesOf } from '../identity/auth-metadata.ts';
import type { Entrance } from '../identity/authenticator.ts';
import { type Principal, tokenPrincipal } from '../identity/principal.ts';
import type { IssuerSettings } from '../identity/settings.ts';
import type { OwnSignIn } from '../oauth/client/pages/ports.ts';
import { type AuthServer, createAuthServer } from '../oauth/server/create.ts';
import { paths, routeOf } from '../oauth/server/paths.ts';
import type { AuthServerOutside } from '../oauth/server/ports.ts';
import { basicScope, type Resource } from '../oauth/server/settings.ts';

export class AuthServerHost {
  #server: AuthServer | undefined;

  /** Nothing is served before `open`. */
  readonly pages: Pages = {
    owns: (path) => this.#server !== undefined && routeOf(path) !== undefined,
    forScripts: (path) => routeOf(path)?.navigated === false,
    handle: async (req, res, path) => this.#server?.handle(req, res, path),
  };

  /** Called once the address that we listen on is known. Returns the issuer that the authenticator has to trust. */
  async open(
    { authServer, identity, listen }: Config,
    entrances: readonly Entrance[],
    url: string,
    outside: AuthServerOutside,
  ): Promise<IssuerSettings | undefined> {
    if (authServer === undefined) return undefined;
    const bases = basesOf(identity, url);
    const server = await createAuthServer(
      {
        issuer: bases[0] ?? url,
        settings: authServer,
        resources: resourcesOf(entrances, bases, identity.implies),
        trustedProxies: listen.trustedProxies,
      },
      outside,
    );
    this.#server = server;
    return {
      issuer: server.issuer,
      keys: () => server.jwks(),
      groupsIn: (claims) => server.groupsIn(claims),
      algorithms: ['ES256'],
      // The same clock issued the tokens.
      clockToleranceMs: 0,
      audienceCheckedByVerifier: false,
    };
  }

  /** For the consent pages: a user who signs in here is the principal of our own tokens. */
  signIn(issuer: string): OwnSignIn {
    return {
      issuer,
      signedIn: async (cookies) => {
        const subject = await this.#server?.signedIn(cookies);
        return subject === undefined ? undefined : JSON.stringify(['token', issuer, subject]);
      },
      signInUrl: (returnTo) => `${paths.signIn}?return=${encodeURIComponent(returnTo)}`,
    };
  }

  /** The user whom the browser with these cookies is signed in as, as the principal of our own tokens. */
  async userOf(cookies: string | undefined): Promise<Principal | undefined> {
    const subject = await this.#server?.signedIn(cookies);
    const issuer = this.#server?.issuer;
    return subject === undefined || issuer === undefined
      ? undefined
      : tokenPrincipal({
          ...{ issuer, claims: { iss: issuer, sub: subject } },
          groups: await this.#server?.groupsOf(subject),
        });
  }

  close(): void {
    this.#server?.close();
  }
}

function resourcesOf(
  entrances: readonly Entrance[],
  bases: readonly string[],
  implies: Readonly<Record<string, readonly string[]>>,
): Resource[] {
  return entrances.flatMap(({ paths, identity }): Resource[] => {
    if (identity.kind === 'open' || !identity.tokens) return [];
    const { required, methods, tools } = identity.scopes;
    const needed = [...required, ...Object.values(methods).flat(), ...Object.values(tools).flat()];
    const broader = Object.entries(implies).flatMap(([scope, narrower]) => [scope, ...narrower]);
    return [
      {
        addresses: bases.flatMap((base) => paths.map((path) => (path === '/' ? base : `${base}${path}`))),
        required: required.length === 0 ? [basicScope] : required,
        scopes: [...new Set([...needed, ...broader])],
      },
    ];
  });
}
