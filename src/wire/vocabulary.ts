/**
 * The protocol's member names, by place, in all revisions: JSON-RPC 2.0, and the schemas of
 * https://github.com/modelcontextprotocol/modelcontextprotocol. A member whose name only folds to one of them is
 * ambiguous: the gateway reads one member, and a case-insensitive backend reads the other.
 */
import { type Folds, foldsOf } from './fold.ts';
import { metaKeys } from './meta.ts';

const message = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];

const params = [
  ...['_meta', 'argument', 'arguments', 'capabilities', 'clientInfo', 'context', 'cursor', 'data', 'elicitationId'],
  ...['includeContext', 'inputResponses', 'level', 'logger', 'maxTokens', 'message', 'messages', 'metadata', 'mode'],
  ...['modelPreferences', 'name', 'notifications', 'progress', 'progressToken', 'protocolVersion', 'reason', 'ref'],
  ...['requestId', 'requestState', 'requestedSchema', 'stopSequences', 'systemPrompt', 'task', 'taskId', 'temperature'],
  ...['toolChoice', 'tools', 'total', 'uri', 'url'],
];

const result = [
  ...['_meta', 'action', 'cacheScope', 'capabilities', 'completion', 'content', 'contents', 'description'],
  ...['inputRequests', 'instructions', 'isError', 'messages', 'model', 'nextCursor', 'prompts', 'protocolVersion'],
  ...['requestState', 'resourceTemplates', 'resources', 'resultType', 'role', 'roots', 'serverInfo', 'stopReason'],
  ...['structuredContent', 'supportedVersions', 'task', 'tasks', 'tools', 'ttlMs'],
];

const meta = ['progressToken', ...Object.values(metaKeys)];

/** The `ref` of a `completion/complete`. */
const ref = ['type', 'name', 'uri'];

/** The filter of a `subscriptions/listen`. */
const notifications = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged', 'resourceSubscriptions'];

/** `error` is for people to read: no decision depends on its members. */
const error: readonly string[] = [];

export type VocabularyPlace = 'message' | 'params' | 'result' | 'error' | 'meta' | 'ref' | 'notifications';

export const folds: Readonly<Record<VocabularyPlace, Folds>> = {
  message: foldsOf(message),
  params: foldsOf(params),
  result: foldsOf(result),
  error: foldsOf(error),
  meta: foldsOf(meta),
  ref: foldsOf(ref),
  notifications: foldsOf(notifications),
};

/** Names that are common in `_meta` and that the gateway does not use. */
const traced = ['traceparent', 'tracestate', 'baggage'];

export const vocabulary: readonly string[] = [
  ...new Set([...message, ...params, ...result, ...meta, ...ref, ...notifications, ...traced]),
];
