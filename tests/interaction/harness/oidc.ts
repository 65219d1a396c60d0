/**
 * A real OpenID provider on a real socket: resource indicators (RFC 8707), JWT access tokens (RFC 9068), and clients
 * that act for themselves. It gives tokens for any resource on this machine.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

export interface OidcClient {
  readonly id: string;
  readonly secret: string;
}

export interface OidcIssuer {
  readonly url: string;
  readonly clients: { readonly alice: OidcClient; readonly bob: OidcClient };
  /** A token for the resource, by the token endpoint. */
  token(client: OidcClient, resource: string, scope?: string): Promise<string>;
  close(): Promise<void>;
}

const alice: OidcClient = { id: 'alice', secret: 'the-secret-of-alice' };
const bob: OidcClient = { id: 'bob', secret: 'the-secret-of-bob' };

/** The caller closes it. */
export async function launchOidc(scopes: string): Promise<OidcIssuer> {
  let handle: ReturnType<Provider['callback']> | undefined;
  const server = createServer((request, response) => handle?.(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const provider = new Provider(url, {
    clients: [alice, bob].map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'one' }] },
    scopes: scopes.split(' '),
    ttl: { ClientCredentials: 600 },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: scopes,
          audience: resource,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
        }),
      },
    },
  });
  handle = provider.callback();
  return {
    url,
    clients: { alice, bob },
    token: async ({ id, secret }, resource, scope) => {
      const response = await fetch(`${url}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, ...(scope && { scope }) }),
      });
      const answer = (await response.json()) as { access_token?: string };
      if (answer.access_token === undefined) throw new Error(`no token: ${JSON.stringify(answer)}`);
      return answer.access_token;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
