/** Every transport and every kind of message, for a client that is going to be rejected. */
import type { Era } from '../../../src/wire/revisions.ts';
import type { Call } from '../harness/client.ts';
import { initialize, modern, modernRevision } from '../harness/eras.ts';

export interface Way {
  readonly name: string;
  readonly era: Era;
  /** The form of a refusal: `unreadable` is a POST that cannot be parsed. */
  readonly kind: 'request' | 'unreadable' | 'other';
  /** What is echoed. */
  readonly id?: string | number;
  /** What the endpoint's address becomes: that of the older transport has another end. */
  readonly at?: (path: string) => string;
  /** Besides what the endpoint needs. */
  readonly scopes?: readonly string[];
  readonly call: Call;
}

export const stale = { 'mcp-session-id': 'nobody-has-this-one' };
const modernVersion = { 'mcp-protocol-version': modernRevision };
const answer = { jsonrpc: '2.0', id: 5, result: {} };
const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
const list = { jsonrpc: '2.0', id: 9, method: 'tools/list' };
const work = { jsonrpc: '2.0', id: 'w', method: 'tools/call', params: { name: 'work' } };
const unreadable = '{"jsonrpc":"2.0","id":';

/** The methods that the endpoints of these suites ask more for. */
export const calling = 'tools:call';

const legacy = { era: 'legacy' } as const;
const asRequest = { kind: 'request' } as const;
const asOther = { kind: 'other' } as const;

export const legacyPosts: readonly Way[] = [
  { name: 'initialize', ...legacy, ...asRequest, id: 'init', call: { body: initialize() } },
  { name: 'a legacy request', ...legacy, ...asRequest, id: 9, call: { headers: stale, body: list } },
  { name: 'a legacy call', ...legacy, ...asRequest, id: 'w', scopes: [calling], call: { headers: stale, body: work } },
  { name: 'a legacy notification', ...legacy, ...asOther, call: { headers: stale, body: changed } },
  { name: 'a legacy response', ...legacy, ...asOther, call: { headers: stale, body: answer } },
  { name: 'a legacy batch', ...legacy, ...asOther, call: { headers: stale, body: [list, work] } },
];

export const legacyOthers: readonly Way[] = [
  { name: 'GET', ...legacy, ...asOther, call: { method: 'GET', headers: { ...stale, accept: 'text/event-stream' } } },
  { name: 'DELETE', ...legacy, ...asOther, call: { method: 'DELETE', headers: stale } },
];

const inModern = { era: 'modern' } as const;

export const modernPosts: readonly Way[] = [
  { name: 'a modern request', ...inModern, ...asRequest, id: 3, call: modern({ id: 3, method: 'tools/list' }) },
  { name: 'server/discover', ...inModern, ...asRequest, id: 'd', call: modern({ id: 'd', method: 'server/discover' }) },
  {
    name: 'a modern call',
    ...inModern,
    ...asRequest,
    id: 4,
    scopes: [calling],
    call: modern({ id: 4, method: 'tools/call', params: { name: 'work' } }),
  },
  {
    name: 'a subscription',
    ...inModern,
    ...asRequest,
    id: 's',
    call: modern({ id: 's', method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true } } }),
  },
  { name: 'a modern notification', ...inModern, ...asOther, call: { headers: modernVersion, body: changed } },
  { name: 'a modern response', ...inModern, ...asOther, call: { headers: modernVersion, body: answer } },
  { name: 'a modern batch', ...inModern, ...asOther, call: { headers: modernVersion, body: [list] } },
];

export const unreadables: readonly Way[] = [
  { name: 'what is no JSON', ...legacy, kind: 'unreadable', call: { body: unreadable } },
  { name: 'an id that is none', ...legacy, kind: 'unreadable', call: { body: { ...list, id: [1] } } },
  {
    name: 'modern, what is no JSON',
    ...inModern,
    kind: 'unreadable',
    call: { headers: modernVersion, body: unreadable },
  },
];

const sse = (path: string) => path.replace(/mcp$/, 'sse');
const messages = (path: string) => path.replace(/mcp$/, 'messages?sessionId=nobody-has-this-one');

export const olderTransport: readonly Way[] = [
  {
    name: 'the stream of HTTP+SSE',
    ...legacy,
    ...asOther,
    at: sse,
    call: { method: 'GET', headers: { accept: 'text/event-stream' } },
  },
  { name: 'HTTP+SSE, initialize', ...legacy, ...asRequest, id: 'init', at: messages, call: { body: initialize() } },
  { name: 'HTTP+SSE, a call', ...legacy, ...asRequest, id: 'w', scopes: [calling], at: messages, call: { body: work } },
  { name: 'HTTP+SSE, a notification', ...legacy, ...asOther, at: messages, call: { body: changed } },
  { name: 'HTTP+SSE, a response', ...legacy, ...asOther, at: messages, call: { body: answer } },
  { name: 'HTTP+SSE, a batch', ...legacy, ...asOther, at: messages, call: { body: [list] } },
  { name: 'HTTP+SSE, what is no JSON', ...legacy, kind: 'unreadable', at: messages, call: { body: unreadable } },
  {
    name: 'HTTP+SSE without a session',
    ...legacy,
    ...asRequest,
    id: 9,
    at: (path) => path.replace(/mcp$/, 'messages'),
    call: { body: list },
  },
];

/** All of Streamable HTTP. */
export const streamable: readonly Way[] = [...legacyPosts, ...legacyOthers, ...modernPosts, ...unreadables];
export const ways: readonly Way[] = [...streamable, ...olderTransport];
