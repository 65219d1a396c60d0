/** A gateway with its own authorization server, a user, and what a client of it does, step by step. */
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { hashPassword } from '../../../src/oauth/server/passwords.ts';
import { addUser } from '../../../src/oauth/server/user-book.ts';
import { type UserFile, writeUserFile } from '../../../src/oauth/server/user-file.ts';
import type { Json } from '../harness/client.ts';
import { type ConfigValue, launchGateway, type Ports, type TestGateway } from '../harness/gateway.ts';
import { modernBackend, type Script } from '../harness/http-backend.ts';
import { alone, Browser } from './browser.ts';

export const password = 'correct horse battery';

/** Slow on purpose, so once for all. */
let hashed: ReturnType<typeof hashPassword> | undefined;

export interface SettingOptions {
  /** Of all users. */
  readonly groups?: readonly string[];
  readonly authServer?: ConfigValue;
  readonly identity?: ConfigValue;
  readonly more?: ConfigValue;
  readonly ports?: Ports;
  readonly users?: readonly string[];
}

export interface Registered {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly redirect_uris: readonly string[];
}

export interface Challenge {
  readonly verifier: string;
  readonly challenge: string;
}

export function challenge(): Challenge {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** One tool, that works. */
const script: Script = {
  'tools/list': (turn) => {
    const tools = [{ name: 'work', inputSchema: { type: 'object' } }];
    turn.result({ tools, resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' });
  },
  'tools/call': (turn) => turn.result({ content: [{ type: 'text', text: 'done' }], resultType: 'complete' }),
};

export const callback = 'http://127.0.0.1:7777/callback';

export class Setting {
  readonly folder: string;
  readonly #value: ConfigValue;
  readonly #ports: Ports;
  gateway: TestGateway;

  private constructor(folder: string, value: ConfigValue, ports: Ports, gateway: TestGateway) {
    this.folder = folder;
    this.#value = value;
    this.#ports = ports;
    this.gateway = gateway;
  }

  static async launch(options: SettingOptions = {}): Promise<Setting> {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-as-'));
    hashed ??= hashPassword(password);
    const hash = await hashed;
    let file: UserFile | undefined;
    // So long ago that nothing was given before.
    for (const name of options.users ?? ['ada']) file = addUser(file, name, hash, 0, options.groups);
    if (file !== undefined) writeFileSync(join(folder, 'users.json'), writeUserFile(file));
    const backend = await modernBackend(script);
    const value = {
      backends: { b: { url: backend.url } },
      identity: {
        authServer: { users: join(folder, 'users.json'), ...options.authServer },
        ...options.identity,
      },
      store: { dir: join(folder, 'state') },
      ...options.more,
    };
    const ports = options.ports ?? {};
    const setting = new Setting(folder, value, ports, await launchGateway(value, ports));
    onTestFinished(async () => {
      await setting.gateway.close(0);
      rmSync(folder, { recursive: true, force: true });
    });
    return setting;
  }

  get origin(): string {
    return this.gateway.origin;
  }

  /** Everything in memory is lost, and the address stays. */
  async restart(): Promise<void> {
    const port = Number(new URL(this.origin).port);
    await this.gateway.close(0);
    this.gateway = await launchGateway(this.#value, this.#ports, port);
  }

  browser(): Browser {
    return new Browser(this.origin);
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answered> {
    const isForm = body instanceof URLSearchParams;
    const response = await fetch(`${this.origin}${path}`, {
      method: 'POST',
      body: isForm ? body : typeof body === 'string' ? body : JSON.stringify(body),
      headers: { ...alone, ...(isForm ? {} : { 'content-type': 'application/json' }), ...headers },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: text === '' ? undefined : JSON.parse(text) };
  }

  async metadata(path = '/.well-known/oauth-authorization-server'): Promise<Json> {
    return (await fetch(`${this.origin}${path}`, { headers: alone })).json();
  }

  async register(metadata: object = {}): Promise<Registered> {
    const { status, json } = await this.post('/oauth/register', {
      client_name: 'Test Client',
      redirect_uris: [callback],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      ...metadata,
    });
    if (status !== 201) throw new Error(`not registered: ${JSON.stringify(json)}`);
    return json;
  }

  authorizeUrl(client: Registered, proof: Challenge, more: Readonly<Record<string, string>> = {}): URL {
    const url = new URL('/oauth/authorize', this.origin);
    url.search = new URLSearchParams({
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: client.redirect_uris[0] ?? callback,
      state: 'the-state',
      code_challenge: proof.challenge,
      code_challenge_method: 'S256',
      ...more,
    }).toString();
    return url;
  }

  /** Signs in where that is asked, agrees, and comes back with the address that the client gets. */
  agree(browser: Browser, url: URL, name = 'ada'): Promise<URL> {
    return browser.agree(url, { name, password });
  }

  exchange(client: Registered, code: string, verifier: string, more: Readonly<Record<string, string>> = {}) {
    return this.post(
      '/oauth/token',
      new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: client.client_id,
        code,
        code_verifier: verifier,
        redirect_uri: client.redirect_uris[0] ?? callback,
        ...more,
      }),
    );
  }

  refresh(client: Registered, token: string, more: Readonly<Record<string, string>> = {}) {
    return this.post(
      '/oauth/token',
      new URLSearchParams({ grant_type: 'refresh_token', client_id: client.client_id, refresh_token: token, ...more }),
    );
  }

  /** The whole way at once. */
  async tokens(more: Readonly<Record<string, string>> = {}, metadata: object = {}): Promise<Tokens> {
    const client = await this.register(metadata);
    const proof = challenge();
    const browser = this.browser();
    const back = await this.agree(browser, this.authorizeUrl(client, proof, more));
    const { resource } = more;
    const code = back.searchParams.get('code') ?? '';
    const { json } = await this.exchange(client, code, proof.verifier, resource === undefined ? {} : { resource });
    if (json.access_token === undefined) throw new Error(`no token: ${JSON.stringify(json)}`);
    return { client, browser, access: json.access_token, refresh: json.refresh_token, code, verifier: proof.verifier };
  }

  /** The status of a call at an endpoint. */
  async enters(token: string, path = '/mcp'): Promise<number> {
    const response = await fetch(`${this.origin}${path}`, {
      method: 'POST',
      headers: {
        ...alone,
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
      }),
    });
    await response.text();
    return response.status;
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Json;
}

export interface Tokens {
  readonly client: Registered;
  readonly browser: Browser;
  readonly access: string;
  readonly refresh: string;
  readonly code: string;
  readonly verifier: string;
}

export function claimsOf(token: string): Json {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}
