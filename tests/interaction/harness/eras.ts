/** What clients of the two eras say, as raw messages. */
import type { Era } from '../../../src/wire/revisions.ts';
import { type Answer, type Call, type Headers, type Json, type OpenAnswer, open, send } from './client.ts';

/** For what is asked of both. */
export const eras = ['legacy', 'modern'] as const satisfies readonly Era[];

export const modernRevision = '2026-07-28';

/** The `_meta` that every modern request carries. */
export function modernMeta(capabilities: object = {}, more: object = {}): object {
  return {
    'io.modelcontextprotocol/protocolVersion': modernRevision,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...more,
  };
}

export function modernHeaders(method: string, name?: string): Headers {
  return {
    'mcp-protocol-version': modernRevision,
    'mcp-method': method,
    ...(name === undefined ? {} : { 'mcp-name': inHeader(name) }),
  };
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/transports#value-encoding */
function inHeader(name: string): string {
  return /^[!-~](?:[ -~]*[!-~])?$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;
}

export interface ModernRequest {
  readonly id?: string | number;
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly capabilities?: object;
  readonly meta?: object;
  readonly headers?: Headers;
}

/** A well-formed modern request as an HTTP call. */
export function modern({ id = 1, method, params = {}, capabilities, meta, headers }: ModernRequest): Call {
  const name =
    method === 'tools/call' || method === 'prompts/get'
      ? params.name
      : method === 'resources/read'
        ? params.uri
        : method.startsWith('tasks/')
          ? params.taskId
          : undefined;
  return {
    headers: { ...modernHeaders(method, typeof name === 'string' ? name : undefined), ...headers },
    body: { jsonrpc: '2.0', id, method, params: { ...params, _meta: modernMeta(capabilities, meta) } },
  };
}

/** A legacy client with a session. */
export class LegacyClient {
  readonly url: string;
  readonly session: string;
  readonly revision: string;
  readonly initialized: Json;
  /** What it presents with every request. */
  credentials: Headers;

  constructor(url: string, session: string, revision: string, initialized: Json, credentials: Headers = {}) {
    this.url = url;
    this.session = session;
    this.revision = revision;
    this.initialized = initialized;
    this.credentials = credentials;
  }

  get headers(): Headers {
    return { 'mcp-session-id': this.session, 'mcp-protocol-version': this.revision, ...this.credentials };
  }

  /** One message, and its whole answer. */
  post(body: unknown, headers: Headers = {}): Promise<Answer> {
    return send(this.url, { body, headers: { ...this.headers, ...headers } });
  }

  /** One message, and its answer while it goes on. */
  stream(body: unknown, headers: Headers = {}): Promise<OpenAnswer> {
    return open(this.url, { body, headers: { ...this.headers, ...headers } });
  }

  /** The standalone stream. */
  listen(headers: Headers = {}): Promise<OpenAnswer> {
    return open(this.url, { method: 'GET', headers: { ...this.headers, accept: 'text/event-stream', ...headers } });
  }

  end(): Promise<Answer> {
    return send(this.url, { method: 'DELETE', headers: this.headers });
  }
}

export interface Introduction {
  readonly revision?: string;
  readonly capabilities?: object;
}

export function initialize({ revision = '2025-11-25', capabilities = {} }: Introduction = {}): object {
  return {
    jsonrpc: '2.0',
    id: 'init',
    method: 'initialize',
    params: { protocolVersion: revision, capabilities, clientInfo: { name: 'raw', version: '1' } },
  };
}

export async function connectLegacy(
  url: string,
  introduction: Introduction = {},
  credentials: Headers = {},
): Promise<LegacyClient> {
  const answer = await send(url, { body: initialize(introduction), headers: credentials });
  const session = answer.headers['mcp-session-id'];
  if (answer.status !== 200 || typeof session !== 'string')
    throw new Error(`initialize: ${answer.status} ${answer.body}`);
  const { result } = answer.json();
  const client = new LegacyClient(url, session, result.protocolVersion, result, credentials);
  const accepted = await client.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  if (accepted.status !== 202) throw new Error(`initialized: ${accepted.status} ${accepted.body}`);
  return client;
}
