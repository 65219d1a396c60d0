// What the backends of the run answer. Plain JavaScript, because the stdio backend is a process that starts at once.

const names = ['delete_file', 'read_file', 'act', 'cel', 'other'];
const info = { name: 'recorder', version: '1' };
const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {} };

const results = {
  'server/discover': () => ({
    supportedVersions: ['2026-07-28'],
    capabilities,
    serverInfo: info,
    ttlMs: 0,
    cacheScope: 'private',
  }),
  initialize: (params) => ({
    protocolVersion: params?.protocolVersion ?? '2025-11-25',
    capabilities,
    serverInfo: info,
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'prompts/list': () => ({ prompts: ['shown', 'hidden'].map((name) => ({ name })) }),
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ name: 'any', uriTemplate: '{+uri}' }] }),
  'logging/setLevel': () => ({}),
};

const work = {
  'tools/call': { content: [] },
  'prompts/get': { messages: [] },
  'resources/read': { contents: [] },
  'completion/complete': { completion: { values: [] } },
};

/** What the gateway asks on its own account. */
export function isHousekeeping({ method } = {}) {
  return Object.hasOwn(results, method) || String(method).startsWith('notifications/');
}

/** Undefined for what has no answer. */
export function answerTo({ id, method, params } = {}, era) {
  if (id === undefined) return undefined;
  if (era === 'legacy' && method === 'server/discover')
    return { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } };
  if (era === 'modern' && method === 'initialize')
    return { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } };
  const result = results[method]?.(params) ?? work[method] ?? {};
  const marks = era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {};
  return { jsonrpc: '2.0', id, result: { ...marks, ...result } };
}
