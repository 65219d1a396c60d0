/**
 * A small server of both eras over Streamable HTTP that keeps the rules, except for the one fault that a test plants.
 * Every byte is its own: no SDK would let it break the rules.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Json } from '../harness/client.ts';
import { serveBodies } from './serve-bodies.ts';

export type PlantedFault =
  | 'challenge missing'
  | 'other resource'
  | 'other issuer'
  | 'PKCE undeclared'
  | 'session lost'
  | 'notification answered with 200'
  | 'version header ignored'
  | 'origin ignored'
  | 'other id'
  | 'malformed stream'
  | 'initialize hangs'
  | 'batch served'
  | 'result type missing'
  | 'cache hints missing'
  | 'mirrored headers ignored'
  | 'capability refused'
  | 'capability undeclared'
  | 'endless pages'
  | 'invalid schema'
  | 'unknown session served'
  | 'session survives DELETE';

export interface FaultyOptions {
  readonly fault?: PlantedFault;
  /** Demands a token, and has metadata that leads to an authorization server. */
  readonly demandsToken?: boolean;
  /** Repeats the headers of a request in its answer, as servers that debug do. */
  readonly echoesHeaders?: boolean;
}

const modernVersion = '2026-07-28';
const legacyVersions = ['2025-06-18', '2025-11-25'];
const core = 'io.modelcontextprotocol/';
const tool = { name: 'echo', description: 'Says it again.', inputSchema: { type: 'object' } };

interface Served {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly text: string;
}

class RefusedRequest extends Error {
  readonly status: number;
  readonly code: number;
  readonly data: unknown;

  constructor(status: number, code: number, message: string, data?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.data = data;
  }
}

export class FaultyServer {
  readonly #options: FaultyOptions;
  readonly #sessions = new Set<string>();
  #made = 0;
  origin = '';

  constructor(options: FaultyOptions) {
    this.#options = options;
  }

  get url(): string {
    return `${this.origin}/mcp`;
  }

  #has(fault: PlantedFault): boolean {
    return this.#options.fault === fault;
  }

  handle(served: Served): void {
    const path = new URL(served.request.url ?? '/', this.origin).pathname;
    if (path.startsWith('/.well-known/')) this.#metadata(path, served.response);
    else if (path !== '/mcp') served.response.writeHead(404).end();
    else if (this.#options.demandsToken === true) this.#demand(served.response);
    else this.#serve(served);
  }

  #demand(response: ServerResponse): void {
    const metadata = `${this.origin}/.well-known/oauth-protected-resource/mcp`;
    const challenge = { 'www-authenticate': `Bearer resource_metadata="${metadata}", scope="mcp"` };
    response.writeHead(401, this.#has('challenge missing') ? {} : challenge).end();
  }

  #metadata(path: string, response: ServerResponse): void {
    const documents: Record<string, object> = {
      '/.well-known/oauth-protected-resource/mcp': {
        resource: this.#has('other resource') ? 'https://elsewhere.example/mcp' : this.url,
        authorization_servers: [this.origin],
      },
      '/.well-known/oauth-authorization-server': {
        issuer: this.#has('other issuer') ? 'https://elsewhere.example' : this.origin,
        authorization_endpoint: `${this.origin}/authorize`,
        token_endpoint: `${this.origin}/token`,
        registration_endpoint: `${this.origin}/register`,
        ...(this.#has('PKCE undeclared') ? {} : { code_challenge_methods_supported: ['S256'] }),
      },
    };
    const document = documents[path];
    if (document === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
  }

  #serve({ request, response, text }: Served): void {
    const { method, headers } = request;
    if (this.#options.echoesHeaders === true) response.setHeader('x-debug', JSON.stringify(headers));
    let id: unknown;
    try {
      if (headers.origin !== undefined && !this.#has('origin ignored')) throw new RefusedRequest(403, -32600, 'Origin');
      if (method === 'DELETE') {
        this.#session(headers);
        if (!this.#has('session survives DELETE')) this.#sessions.delete(String(headers['mcp-session-id']));
        response.writeHead(204).end();
        return;
      }
      if (method !== 'POST') throw new RefusedRequest(405, -32600, 'Method');
      if (headers['content-type'] !== 'application/json') throw new RefusedRequest(415, -32600, 'Content-Type');
      if (headers.accept?.includes('application/json') !== true) throw new RefusedRequest(406, -32600, 'Accept');
      const message = this.#read(text);
      id = Array.isArray(message) ? undefined : message.id;
      this.#answer(message, headers, response);
    } catch (error) {
      if (!(error instanceof RefusedRequest)) throw error;
      const { status, code, message, data } = error;
      this.#write(response, status, { jsonrpc: '2.0', id, error: { code, message, data } });
    }
  }

  #read(text: string): Json {
    let message: Json;
    try {
      message = JSON.parse(text);
    } catch {
      throw new RefusedRequest(400, -32700, 'Parse error');
    }
    if (Array.isArray(message) && this.#has('batch served')) return message;
    const isMessage = message.jsonrpc === '2.0' && message.id !== null && !Array.isArray(message);
    if (!isMessage || (message.method === undefined && message.result === undefined))
      throw new RefusedRequest(400, -32600, 'Invalid request');
    return message;
  }

  #answer(message: Json, headers: IncomingMessage['headers'], response: ServerResponse): void {
    if (Array.isArray(message)) {
      this.#write(
        response,
        200,
        message.map(({ id }) => ({ jsonrpc: '2.0', id, result: {} })),
      );
      return;
    }
    const isModern = headers['mcp-protocol-version'] === modernVersion || message.params?._meta !== undefined;
    if (message.method === 'initialize' && !isModern) {
      this.#initialize(message, response);
      return;
    }
    if (!isModern) this.#legacyGates(headers);
    if (message.id === undefined || message.method === undefined) {
      if (message.result !== undefined && isModern) throw new RefusedRequest(400, -32600, 'A response');
      response.writeHead(this.#has('notification answered with 200') ? 200 : 202).end();
      return;
    }
    if (isModern) this.#modernGates(message, headers);
    this.#write(response, 200, { jsonrpc: '2.0', id: message.id, result: this.#result(message, isModern) });
  }

  #initialize({ id, params }: Json, response: ServerResponse): void {
    if (this.#has('initialize hangs')) return;
    const session = `session-${++this.#made}-of-the-test`;
    if (!this.#has('session lost')) this.#sessions.add(session);
    const asked = params.protocolVersion;
    const result = {
      protocolVersion: legacyVersions.includes(asked) ? asked : '2025-11-25',
      capabilities: this.#capabilities(),
      serverInfo: { name: 'faulty', version: '1' },
    };
    this.#write(response, 200, { jsonrpc: '2.0', id, result }, { 'mcp-session-id': session });
  }

  #capabilities(): object {
    return this.#has('capability undeclared') ? {} : { tools: {} };
  }

  #legacyGates(headers: IncomingMessage['headers']): void {
    this.#session(headers);
    const version = headers['mcp-protocol-version'];
    if (version !== undefined && !legacyVersions.includes(String(version)) && !this.#has('version header ignored'))
      throw new RefusedRequest(400, -32600, 'Unsupported version');
  }

  #session(headers: IncomingMessage['headers']): void {
    const session = headers['mcp-session-id'];
    if (session === undefined) throw new RefusedRequest(400, -32600, 'No session');
    if (this.#sessions.has(String(session)) || this.#has('unknown session served')) return;
    throw new RefusedRequest(404, -32001, 'Session not found');
  }

  #modernGates({ method, params = {} }: Json, headers: IncomingMessage['headers']): void {
    const meta = params._meta ?? {};
    const version = meta[`${core}protocolVersion`];
    if (version === undefined || meta[`${core}clientCapabilities`] === undefined)
      throw new RefusedRequest(400, -32602, 'Invalid _meta');
    const name = params.name ?? params.uri;
    const given = String(headers['mcp-name']).replace(/^=\?base64\?(.*)\?=$/, (_all, text: string) =>
      Buffer.from(text, 'base64').toString(),
    );
    const agrees =
      headers['mcp-protocol-version'] === version &&
      headers['mcp-method'] === method &&
      (method !== 'tools/call' || given === name);
    if (!agrees && !this.#has('mirrored headers ignored')) throw new RefusedRequest(400, -32020, 'Header mismatch');
    if (version !== modernVersion)
      throw new RefusedRequest(400, -32022, 'Unsupported', { supported: [modernVersion], requested: version });
  }

  #result({ method, params = {} }: Json, isModern: boolean): object {
    const hints = this.#has('cache hints missing') ? {} : { ttlMs: 0, cacheScope: 'private' };
    const kind = this.#has('result type missing') ? {} : { resultType: 'complete' };
    const complete = (result: object) => (isModern ? { ...kind, ...hints, ...result } : result);
    if (method === 'ping' && !isModern) return {};
    if (method === 'server/discover' && isModern) {
      const _meta = { [`${core}serverInfo`]: { name: 'faulty', version: '1' } };
      return complete({ supportedVersions: [modernVersion], capabilities: this.#capabilities(), _meta });
    }
    if (method === 'tools/list' && !this.#has('capability refused')) return complete(this.#tools(params.cursor));
    if (method === 'tools/call' && params.name !== 'echo') throw new RefusedRequest(200, -32602, 'Unknown tool');
    if (method === 'tools/call') return complete({ content: [{ type: 'text', text: 'echo' }] });
    throw new RefusedRequest(isModern ? 404 : 200, -32601, 'Method not found');
  }

  #tools(cursor: unknown): object {
    if (this.#has('endless pages')) return { tools: [tool], nextCursor: 'again' };
    if (cursor !== undefined) throw new RefusedRequest(200, -32602, 'Invalid cursor');
    const inputSchema = { type: 'object', properties: { text: { type: 'words' } } };
    return { tools: [this.#has('invalid schema') ? { ...tool, inputSchema } : tool] };
  }

  #write(response: ServerResponse, status: number, body: Json, headers: Record<string, string> = {}): void {
    const isResult = status === 200 && body.result !== undefined;
    if (isResult && this.#has('malformed stream')) {
      // Without the empty line, the event never ends.
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers }).end(`data: ${JSON.stringify(body)}`);
      return;
    }
    const sent = isResult && this.#has('other id') ? { ...body, id: `not-${body.id}` } : body;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(sent));
  }
}

export async function startFaulty(options: FaultyOptions = {}): Promise<FaultyServer> {
  const faulty = new FaultyServer(options);
  faulty.origin = await serveBodies((request, response, text) => faulty.handle({ request, response, text }));
  return faulty;
}
