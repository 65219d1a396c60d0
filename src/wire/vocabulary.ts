/**
 * The names that the protocol gives to members, by place, in all revisions: JSON-RPC 2.0, and the schemas of
 * https://github.com/modelcontextprotocol/modelcontextprotocol. A member whose name only folds to one of them is ambiguous
 * there: the gateway reads one, and a backend that ignores case reads the other.
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

/** Of a `completion/complete`: what is to be completed. */
const ref = ['type', 'name', 'uri'];

/** Of a `subscriptions/listen`: what is listened to. */
const notifications = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged', 'resourceSubscriptions'];

/** `error` is for people to read: nothing is decided by its members. */
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

/** Names that occur in `_meta` of many messages and mean nothing to the gateway. */
const traced = ['traceparent', 'tracestate', 'baggage'];

/** Every name above. */
export const vocabulary: readonly string[] = [
  ...new Set([...message, ...params, ...result, ...meta, ...ref, ...notifications, ...traced]),
];
