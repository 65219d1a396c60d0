/** An SDK client with a callback of its own: what a desktop program with a browser beside it does. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export class SdkClient {
  readonly #url: URL;
  readonly #server: Server;
  readonly #back: Promise<URLSearchParams>;
  readonly #transport: StreamableHTTPClientTransport;
  readonly #provider: OAuthClientProvider;
  /** Where it wants the person to go. */
  readonly asks: Promise<string>;

  private constructor(url: string, server: Server) {
    this.#url = new URL(url);
    this.#server = server;
    const { port } = server.address() as AddressInfo;
    this.#back = new Promise((resolve) => {
      server.on('request', (request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? '', 'http://127.0.0.1');
        if (pathname === '/callback') resolve(searchParams);
        response.end('The client has its answer');
      });
    });
    let ask: (url: string) => void = () => undefined;
    this.asks = new Promise((resolve) => {
      ask = resolve;
    });
    this.#provider = providerAt(`http://127.0.0.1:${port}/callback`, (to) => ask(to.href));
    this.#transport = new StreamableHTTPClientTransport(this.#url, { authProvider: this.#provider });
  }

  static async start(url: string): Promise<SdkClient> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = new SdkClient(url, server);
    // It is refused: that is what starts the flow.
    await client
      .#client()
      .connect(client.#transport)
      .catch(() => undefined);
    return client;
  }

  async useTool(): Promise<unknown> {
    await this.#transport.finishAuth(await this.#back);
    const client = this.#client();
    await client.connect(new StreamableHTTPClientTransport(this.#url, { authProvider: this.#provider }));
    const { content } = await client.callTool({ name: 'echo', arguments: { message: 'hello' } });
    await client.close();
    return content;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #client(): Client {
    return new Client({ name: 'desktop', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  }
}

/** In memory: a run is over before anything expires. */
function providerAt(redirectUrl: string, lead: (to: URL) => void): OAuthClientProvider {
  const kept = new Map<string, unknown>();
  const keep = (name: string) => (value: unknown) => void kept.set(name, value);
  const get = (name: string) => () => kept.get(name);
  return {
    redirectUrl,
    clientMetadata: {
      client_name: 'A desktop program with a rather long name',
      redirect_uris: [redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: get('client'),
    saveClientInformation: keep('client'),
    tokens: get('tokens'),
    saveTokens: keep('tokens'),
    codeVerifier: get('verifier'),
    saveCodeVerifier: keep('verifier'),
    discoveryState: get('discovery'),
    saveDiscoveryState: keep('discovery'),
    redirectToAuthorization: lead,
  } as OAuthClientProvider;
}
