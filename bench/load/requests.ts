/** The bytes that the load generator sends: what the official clients send, less what does not matter here. */

export interface Call {
  readonly method: string;
  /** The tool, for `tools/call`. */
  readonly name?: string;
  readonly arguments?: object;
  /** Of a page, for lists. */
  readonly cursor?: string;
}

export type Id = string | number;

const accept = 'application/json, text/event-stream';
const clientInfo = { name: 'bench-client', version: '1.0.0' };
export const modernRevision = '2026-07-28';
export const legacyRevision = '2025-11-25';

type Headers = Readonly<Record<string, string>>;

function httpBytes(verb: string, url: URL, headers: Headers, body: string): Buffer {
  const lines = Object.entries({ host: url.host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${verb} ${url.pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

function post(url: URL, headers: Headers, message: object): Buffer {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  const framing = { accept, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return httpBytes('POST', url, { ...framing, ...headers }, body);
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#request-metadata */
export function modernRequest(url: URL, id: Id, { method, ...params }: Call, more: Headers = {}): Buffer {
  const headers: Record<string, string> = { 'mcp-protocol-version': modernRevision, 'mcp-method': method, ...more };
  if (params.name !== undefined) headers['mcp-name'] = params.name;
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modernRevision,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return post(url, headers, { id, method, params: { ...params, _meta } });
}

/** Some servers have no sessions, and give no id. */
type Session = string | undefined;

function ofSession(session: Session): Headers {
  return { ...(session !== undefined && { 'mcp-session-id': session }), 'mcp-protocol-version': legacyRevision };
}

export function legacyRequest(url: URL, session: Session, id: Id, { method, ...params }: Call): Buffer {
  return post(url, ofSession(session), { id, method, params });
}

export function initializeRequest(url: URL): Buffer {
  const params = { protocolVersion: legacyRevision, capabilities: {}, clientInfo };
  return post(url, {}, { id: 'initialize', method: 'initialize', params });
}

export function initializedNotification(url: URL, session: Session): Buffer {
  return post(url, ofSession(session), { method: 'notifications/initialized' });
}

export function deleteRequest(url: URL, session: string): Buffer {
  return httpBytes('DELETE', url, ofSession(session), '');
}

export function streamRequest(url: URL, session: string): Buffer {
  return httpBytes('GET', url, { accept: 'text/event-stream', ...ofSession(session) }, '');
}
