/**
 * The protocol's member names, by place, in all revisions: JSON-RPC 2.0, and the schemas of
 * https://github.com/modelcontextprotocol/modelcontextprotocol. A member whose name only folds to one of them is
 * ambiguous: the gateway reads one member, and a case-insensitive backend reads the other.
 */
import { type Folds, foldsOf } from './fold.ts';

/** The `_meta` keys of the core protocol. https://modelcontextprotocol.io/specification/2026-07-28/basic#_meta */
const CORE = 'io.modelcontextprotocol/';

export const metaKeys = {
  protocolVersion: `${CORE}protocolVersion`,
  clientInfo: `${CORE}clientInfo`,
  clientCapabilities: `${CORE}clientCapabilities`,
  logLevel: `${CORE}logLevel`,
  subscriptionId: `${CORE}subscriptionId`,
  serverInfo: `${CORE}serverInfo`,
} as const;

/** Reserved for the protocol and its extensions. */
export function isReservedMeta(key: string): boolean {
  return key.startsWith(CORE);
}

const words = {
  message: ['jsonrpc', 'id', 'method', 'params', 'result', 'error'],
  params: [
    ...['_meta', 'argument', 'arguments', 'capabilities', 'clientInfo', 'context', 'cursor', 'data', 'elicitationId'],
    ...['includeContext', 'inputResponses', 'level', 'logger', 'maxTokens', 'message', 'messages', 'metadata', 'mode'],
    ...['modelPreferences', 'name', 'notifications', 'progress', 'progressToken', 'protocolVersion', 'reason', 'ref'],
    ...[
      'requestId',
      'requestState',
      'requestedSchema',
      'stopSequences',
      'systemPrompt',
      'task',
      'taskId',
      'temperature',
    ],
    ...['toolChoice', 'tools', 'total', 'uri', 'url'],
  ],
  result: [
    ...['_meta', 'action', 'cacheScope', 'capabilities', 'completion', 'content', 'contents', 'description'],
    ...['inputRequests', 'instructions', 'isError', 'messages', 'model', 'nextCursor', 'prompts', 'protocolVersion'],
    ...['requestState', 'resourceTemplates', 'resources', 'resultType', 'role', 'roots', 'serverInfo', 'stopReason'],
    ...['structuredContent', 'supportedVersions', 'task', 'tasks', 'tools', 'ttlMs'],
  ],
  /** For people to read: no decision depends on its members. */
  error: [],
  meta: ['progressToken', ...Object.values(metaKeys)],
  /** Of a `completion/complete`. */
  ref: ['type', 'name', 'uri'],
  /** The filter of a `subscriptions/listen`. */
  notifications: ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged', 'resourceSubscriptions'],
};

export const folds = Object.fromEntries(
  Object.entries(words).map(([place, list]) => [place, foldsOf(list)]),
) as Readonly<Record<keyof typeof words, Folds>>;

/** Names that are common in `_meta` and that the gateway does not use. */
const traced = ['traceparent', 'tracestate', 'baggage'];

export const vocabulary: readonly string[] = [...new Set([...Object.values(words).flat(), ...traced])];
