/**
 * Identifies a person by the issuer of their own account, only for `iss` and `sub` of the ID token. No token is kept.
 */
import { type FlowSecrets, newSecrets, newState, type OpenIdClient, OpenIdProvider } from '../../openid/provider.ts';
import { SignInError } from '../../openid/sign-in-error.ts';
import type { GuardedFetch } from '../guarded-fetch.ts';
import type { ForeignSignIn } from './ports.ts';

export interface ForeignSignInOutside {
  /** For an issuer from the config. The fetch restricts which other URLs are requested, and limits their responses. */
  readonly fetchFor: (issuer: string) => GuardedFetch['fetch'];
  readonly now: () => number;
}

/**
 * Our clients are registered with `/oauth/signed-in` as redirect. An issuer must give them the same `sub` as the
 * clients whose tokens we accept. Pairwise subjects (OpenID Core, 8.1) do not work.
 */
export function openIdSignIn(clients: readonly OpenIdClient[], outside: ForeignSignInOutside): ForeignSignIn {
  const byIssuer = new Map(
    clients.map((client) => {
      const provider = new OpenIdProvider(client, { fetch: outside.fetchFor(client.issuer), now: outside.now });
      return [client.issuer, provider];
    }),
  );
  const providerOf = (issuer: string): OpenIdProvider => {
    const provider = byIssuer.get(issuer);
    if (provider === undefined) throw new SignInError('no `signIn` is configured for this issuer');
    return provider;
  };
  return {
    canSignIn: (issuer) => byIssuer.has(issuer),
    begin: async (issuer, redirectUri) => {
      const state = newState();
      const secrets = newSecrets();
      const url = await providerOf(issuer).authorizationUrl({ redirectUri, state, secrets, scope: 'openid' });
      return { url, state, kept: JSON.stringify(secrets) };
    },
    complete: async ({ state, kept }, { issuer, redirectUri, parameters }) => {
      const secrets = JSON.parse(kept) as FlowSecrets;
      const { claims } = await providerOf(issuer).identify({ state, redirectUri, parameters, secrets });
      return { issuer: claims.iss, subject: claims.sub };
    },
  };
}
