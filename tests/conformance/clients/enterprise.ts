/**
 * What an operator knows, and the kit does not tell: the backend's authorization server. The kit's identity provider
 * shows no keys, so that the gateway asks somebody here who the bearer of its token is (RFC 7662).
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Context } from './scenes.ts';

export interface Enterprise {
  readonly context: Context;
  readonly identity: object;
  /** What the caller presents to the gateway. */
  readonly token: string;
  close(): Promise<void>;
}

export async function enterprise(backend: string, context: Context): Promise<Enterprise> {
  const token = String(context.idp_id_token);
  const issuer = String(context.idp_issuer);
  const metadata = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', backend));
  const { authorization_servers: servers } = (await metadata.json()) as { authorization_servers: readonly string[] };
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      const active = new URLSearchParams(body).get('token') === token;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(active ? { ...claims, active } : { active }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/introspect`;
  return {
    context: { issuer: servers[0] },
    identity: {
      issuers: [{ issuer, introspection: { url, clientId: 'gateway', clientSecret: 'gateway' } }],
      audiences: [String(context.idp_client_id)],
    },
    token,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
