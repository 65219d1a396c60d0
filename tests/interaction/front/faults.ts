/**
 * One message for each gate that stops it there and nowhere else: what all refusals have in common is asked of each. A
 * live legacy session stands by for the gates that come behind the session.
 */

import { batchRefused, type Refusal, request, sessionNotFound, sessionRequired } from '../harness/behind.ts';
import type { Call, Headers } from '../harness/client.ts';
import { initialize, type LegacyClient, modern, modernHeaders, modernMeta } from '../harness/eras.ts';
import { mismatch, missing, withHeaders } from '../modern/setup.ts';

/** Limits under which the faults below are faults. */
export const faultLimits = { bodyBytes: 4096, jsonDepth: 16 };

export interface Fault {
  readonly name: string;
  readonly path: string;
  /** `id` is the raw token of the request's id, where it has one. */
  call(id: string, live: LegacyClient): Call;
  readonly status: number;
  readonly refusal: Omit<Refusal, 'id'>;
}

/** The message as text, so that the id keeps its spelling. */
export function raw(id: string, message: object): string {
  return JSON.stringify({ ...message, id: '@id' }).replace('"@id"', id);
}

const plain = request(0, 'tools/list');
const posted = (headers: Headers = {}) => ({ call: (id: string): Call => ({ body: raw(id, plain), headers }) });
const legacy = '/legacy/mcp';
const invalid = { code: -32600, reason: 'invalid_request' };

/** Refused by HTTP, before anybody looks at the body. */
export const unread: readonly Fault[] = [
  {
    name: 'a path where nothing is',
    path: '/nowhere',
    ...posted(),
    status: 404,
    refusal: { code: -32600, message: 'No endpoint at this path', reason: 'path_not_found' },
  },
  {
    name: 'an HTTP method that the path does not have',
    path: legacy,
    call: (id) => ({ method: 'PUT', body: raw(id, plain) }),
    status: 405,
    refusal: { code: -32600, message: 'Method not allowed', reason: 'method_not_allowed' },
  },
  {
    name: 'a foreign origin',
    path: legacy,
    ...posted({ origin: 'https://evil.example' }),
    status: 403,
    refusal: { code: -32600, message: 'Origin not allowed', reason: 'origin_not_allowed' },
  },
  {
    name: 'a foreign host',
    path: legacy,
    ...posted({ host: 'evil.example' }),
    status: 403,
    refusal: { code: -32600, message: 'Host not allowed', reason: 'host_not_allowed' },
  },
  {
    name: 'another media type',
    path: legacy,
    ...posted({ 'content-type': 'text/plain' }),
    status: 415,
    refusal: { code: -32600, message: 'Content-Type must be application/json', reason: 'unsupported_media_type' },
  },
  {
    name: 'an `Accept` that nothing can be served in',
    path: legacy,
    ...posted({ accept: 'text/html' }),
    status: 406,
    refusal: {
      code: -32600,
      message: 'Not acceptable: the client must accept application/json and text/event-stream',
      reason: 'not_acceptable',
    },
  },
  {
    name: 'too large a body',
    path: legacy,
    call: (id) => ({ body: raw(id, { ...plain, params: { padding: 'x'.repeat(faultLimits.bodyBytes) } }) }),
    status: 413,
    refusal: {
      code: -32600,
      message: `The body is over ${faultLimits.bodyBytes} bytes`,
      reason: 'body_too_large',
    },
  },
];

const twins = '{"jsonrpc":"2.0","id":@,"method":"tools/list","params":{"a":1,"a":2}}';
const deep = `{"jsonrpc":"2.0","id":@,"method":"tools/list","params":{"a":${'['.repeat(20)}${']'.repeat(20)}}}`;

/** The body was read, and has the id of a request. */
export const read: readonly Fault[] = [
  {
    name: 'ambiguous JSON',
    path: legacy,
    call: (id) => ({ body: twins.replace('@', id) }),
    status: 400,
    refusal: { code: -32600, message: 'Ambiguous JSON', reason: 'ambiguous_json' },
  },
  {
    name: 'nesting beyond the limit',
    path: legacy,
    call: (id) => ({ body: deep.replace('@', id) }),
    status: 400,
    refusal: { code: -32600, message: 'Nested too deeply', reason: 'too_deep' },
  },
  {
    name: 'a message that is none of JSON-RPC 2.0',
    path: legacy,
    call: (id) => ({ body: `{"id":${id},"method":"tools/list"}` }),
    status: 400,
    refusal: { ...invalid, message: 'jsonrpc must be "2.0"' },
  },
  { name: 'no session', path: legacy, ...posted(), status: 400, refusal: sessionRequired },
  {
    name: 'a session that is not there',
    path: legacy,
    ...posted({ 'mcp-session-id': 'nobody' }),
    status: 404,
    refusal: sessionNotFound,
  },
  {
    name: 'a legacy version other than negotiated',
    path: legacy,
    call: (id, live) => ({ body: raw(id, plain), headers: { ...live.headers, 'mcp-protocol-version': '2025-06-18' } }),
    status: 400,
    refusal: { code: -32600, message: 'Unsupported protocol version', reason: 'unsupported_version_header' },
  },
  {
    name: '`initialize` in a live session',
    path: legacy,
    call: (id, live) => ({ body: raw(id, initialize()), headers: live.headers }),
    status: 400,
    refusal: { code: -32600, message: 'Session already initialized', reason: 'session_exists' },
  },
  {
    name: '`initialize` where there is no legacy revision',
    path: '/modern-only/mcp',
    call: (id) => ({ body: raw(id, initialize()) }),
    status: 400,
    refusal: {
      code: -32022,
      message: 'Unsupported protocol version',
      reason: 'unsupported_version',
      data: { supported: ['2026-07-28'], requested: '2025-11-25' },
    },
  },
  {
    name: 'a legacy method that nobody has',
    path: legacy,
    call: (id, live) => ({ body: raw(id, request(0, 'tools/burn')), headers: live.headers }),
    status: 200,
    refusal: { code: -32601, message: 'Method not found', reason: 'method_not_found', data: { method: 'tools/burn' } },
  },
  {
    name: 'a mirrored header that is missing',
    path: '/modern/mcp',
    call: (id) => withHeaders(modernCall(id, 'tools/list'), { 'mcp-method': undefined }),
    status: 400,
    refusal: mismatch('Mcp-Method', missing),
  },
  {
    name: 'a modern header without an envelope',
    path: '/modern/mcp',
    ...posted(modernHeaders('tools/list')),
    status: 400,
    refusal: {
      code: -32602,
      message: '_meta must have io.modelcontextprotocol/protocolVersion',
      reason: 'missing_meta',
    },
  },
  {
    name: 'a modern revision outside the profile',
    path: '/legacy-only/mcp',
    call: (id) => modernCall(id, 'tools/list'),
    status: 400,
    refusal: {
      code: -32022,
      message: 'Unsupported protocol version',
      reason: 'unsupported_version',
      data: { supported: ['2025-11-25', '2025-06-18'], requested: '2026-07-28' },
    },
  },
  {
    name: 'a modern request without capabilities',
    path: '/modern/mcp',
    call: (id) => modernCall(id, 'tools/list', { 'io.modelcontextprotocol/clientCapabilities': undefined }),
    status: 400,
    refusal: {
      code: -32602,
      message: '_meta must have io.modelcontextprotocol/clientCapabilities',
      reason: 'missing_meta',
    },
  },
  {
    name: 'a method that the modern revision does not have',
    path: '/modern/mcp',
    call: (id) => modernCall(id, 'ping'),
    status: 404,
    refusal: { code: -32601, message: 'Method not found', reason: 'method_removed', data: { method: 'ping' } },
  },
  {
    name: 'a subscription in JSON alone',
    path: '/modern/mcp',
    call: (id) => withHeaders(modernCall(id, 'subscriptions/listen'), { accept: 'application/json' }),
    status: 406,
    refusal: { code: -32600, message: 'Not acceptable: the response is an event stream', reason: 'not_acceptable' },
  },
];

function modernCall(id: string, method: string, meta: object = {}): Call {
  const { headers = {} } = modern({ method });
  return { headers, body: raw(id, request(0, method, { _meta: modernMeta({}, meta) })) };
}

/** The body was read, or need not be, and there is no request in it whose id could be echoed. */
export const withoutId: readonly Fault[] = [
  {
    name: 'what is no JSON',
    path: legacy,
    call: () => ({ body: '{"jsonrpc":"2.0","id":7,"method"' }),
    status: 400,
    refusal: { code: -32700, message: 'Parse error', reason: 'parse_error' },
  },
  {
    name: '`id: null`',
    path: legacy,
    call: () => ({ body: raw('null', plain) }),
    status: 400,
    refusal: { ...invalid, message: 'id must be a string or an integer' },
  },
  {
    name: 'two ids',
    path: legacy,
    call: () => ({ body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}' }),
    status: 400,
    refusal: { code: -32600, message: 'Ambiguous JSON', reason: 'ambiguous_json' },
  },
  {
    name: 'an array',
    path: legacy,
    call: (id) => ({ body: `[${raw(id, plain)}]` }),
    status: 400,
    refusal: batchRefused,
  },
  {
    name: 'a notification of no session',
    path: legacy,
    call: () => ({ body: { jsonrpc: '2.0', method: 'notifications/initialized' } }),
    status: 400,
    refusal: sessionRequired,
  },
  {
    name: 'a response for a session that is not there',
    path: legacy,
    call: () => ({ body: { jsonrpc: '2.0', id: 7, result: {} }, headers: { 'mcp-session-id': 'nobody' } }),
    status: 404,
    refusal: sessionNotFound,
  },
  {
    name: 'a malformed response',
    path: legacy,
    call: (_, live) => ({ body: '{"jsonrpc":"2.0","id":7,"result":{},"error":{}}', headers: live.headers }),
    status: 400,
    refusal: { ...invalid, message: 'Both result and error' },
  },
  {
    name: 'a modern response',
    path: '/modern/mcp',
    call: () => ({ body: { jsonrpc: '2.0', id: 7, result: {} }, headers: { 'mcp-protocol-version': '2026-07-28' } }),
    status: 400,
    refusal: {
      code: -32600,
      message: 'Responses are not accepted in this revision',
      reason: 'response_not_expected',
    },
  },
  {
    name: 'GET of a session that is not there',
    path: legacy,
    call: () => ({ method: 'GET', headers: { 'mcp-session-id': 'nobody' } }),
    status: 404,
    refusal: sessionNotFound,
  },
  {
    name: 'GET with an event that is not there',
    path: legacy,
    call: (_, live) => ({ method: 'GET', headers: { ...live.headers, 'last-event-id': 'nothing-1' } }),
    status: 400,
    refusal: { code: -32600, message: 'Unknown event id', reason: 'unknown_event' },
  },
  {
    name: 'DELETE without a session',
    path: legacy,
    call: () => ({ method: 'DELETE' }),
    status: 400,
    refusal: sessionRequired,
  },
];

export const faults = [...unread, ...read, ...withoutId];
