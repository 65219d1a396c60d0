/** A scripted backend behind a check: it needs a token of its authorization server. */
import { Agent, createServer, type IncomingMessage, request as onward, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { type Asked, type Said, TestIssuer } from '../../oauth/client/support.ts';
import { legacyBackend, modernBackend, type Script, type ScriptedBackend, type Turn } from '../harness/http-backend.ts';

/** Tells by whose token it was called. */
const work: Script = {
  'tools/list': (turn) => {
    const tools = [{ name: 'work', inputSchema: { type: 'object' } }];
    turn.result({ tools, resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
  },
  'tools/call': (turn) => turn.result({ content: [{ type: 'text', text: 'done' }], resultType: 'complete' }),
};

export interface GuardedOptions {
  readonly era: Era;
  readonly script?: Script;
}

/** For backends here: their authorization servers are on this machine, each at a port of its own. */
export const oauth = { type: 'oauth', authorizationServers: ['http://127.0.0.1:*'] } as const;

export class GuardedBackend<Inner extends { readonly url: string } = ScriptedBackend> {
  readonly issuer: TestIssuer;
  readonly inner: Inner;
  /** Scopes that a request needs besides a token, by the message's text. */
  needs: (text: string) => readonly string[] = () => [];
  /** Whether a request needs no token, by the message's text. */
  isOpenTo: (text: string) => boolean = () => false;
  /** Every `Authorization` header that arrived, accepted or not. */
  readonly presented: (string | undefined)[] = [];
  refusals = 0;
  /** Named in the place of its own authorization server, and of the place of its metadata. */
  namedIssuer: string | undefined;
  namedMetadata: string | undefined;
  /** Tokens that were revoked without notice to their holders. */
  readonly ended = new Set<string>();
  /** Which person's tokens those are: who was at the authorization server when it gave the code. */
  readonly owners = new Map<string, string>();
  readonly #codes = new Map<string, string>();
  readonly #origin: string;
  readonly #agent = new Agent({ keepAlive: true });

  private constructor(issuer: TestIssuer, inner: Inner, origin: string) {
    this.issuer = issuer;
    this.inner = inner;
    this.#origin = origin;
    this.#keepOwners();
  }

  static async open({ era, script = {} }: GuardedOptions): Promise<GuardedBackend> {
    const all = { ...work, ...script };
    return GuardedBackend.before(await (era === 'modern' ? modernBackend(all) : legacyBackend(all)));
  }

  static async before<Inner extends { readonly url: string }>(inner: Inner): Promise<GuardedBackend<Inner>> {
    const issuer = await TestIssuer.open();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const backend = new GuardedBackend(issuer, inner, `http://127.0.0.1:${port}`);
    server.on('request', (request, response) => backend.#receive(request, response));
    onTestFinished(async () => {
      backend.#agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await issuer.site.close();
    });
    return backend;
  }

  get url(): string {
    return `${this.#origin}${new URL(this.inner.url).pathname}`;
  }

  get #metadataPath(): string {
    return `/.well-known/oauth-protected-resource${new URL(this.inner.url).pathname}`;
  }

  /** A person comes back from the authorization server with a code. */
  came(person: string, code: string): void {
    this.#codes.set(code, person);
  }

  ownerOf(turn: Turn | { readonly headers: IncomingMessage['headers'] }): string | undefined {
    const { headers } = 'received' in turn ? turn.received : turn;
    return this.owners.get(tokenIn(headers.authorization));
  }

  #receive(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === this.#metadataPath) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ resource: this.url, authorization_servers: [this.namedIssuer ?? this.issuer.issuer] }),
      );
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => this.#judge(request, Buffer.concat(chunks), response));
  }

  #judge(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { authorization } = request.headers;
    this.presented.push(authorization);
    const token = tokenIn(authorization);
    const granted = this.ended.has(token) ? undefined : this.issuer.accessTokens.get(token);
    const needed = this.needs(body.toString());
    if (this.isOpenTo(body.toString())) this.#pass(request, body, response);
    else if (granted === undefined) this.#refuse(response, 401, needed);
    else if (needed.some((scope) => !granted.includes(scope))) this.#refuse(response, 403, needed);
    else this.#pass(request, body, response);
  }

  #refuse(response: ServerResponse, status: number, scopes: readonly string[]): void {
    this.refusals += 1;
    const challenge = [
      `resource_metadata="${this.namedMetadata ?? `${this.#origin}${this.#metadataPath}`}"`,
      ...(scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`]),
      ...(status === 403 ? ['error="insufficient_scope"'] : []),
    ];
    response.writeHead(status, { 'www-authenticate': `Bearer ${challenge.join(', ')}` }).end('no');
  }

  #pass(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
    const { method, headers } = request;
    const passed = onward(
      new URL(request.url ?? '', this.inner.url),
      { method, headers, agent: this.#agent },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.flushHeaders();
        answer.on('error', () => response.destroy());
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    passed.end(body);
  }

  #keepOwners(): void {
    const { pages } = this.issuer.site;
    const give = pages.get('/token') as (asked: Asked) => Said | Promise<Said>;
    pages.set('/token', async (asked) => {
      const { form } = asked;
      const owner = this.#codes.get(form.get('code') ?? '') ?? this.owners.get(form.get('refresh_token') ?? '');
      const said = await give(asked);
      const given = said.body as Record<string, unknown>;
      for (const name of ['access_token', 'refresh_token']) {
        const token = given[name];
        if (owner !== undefined && typeof token === 'string') this.owners.set(token, owner);
      }
      return said;
    });
  }
}

export function tokenIn(authorization: string | undefined): string {
  return authorization?.replace(/^Bearer /, '') ?? '';
}
