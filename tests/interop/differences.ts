/**
 * Where a run through the gateway may differ from one without it: at most ten rows, each with the sentence of the
 * specification that makes it right. A row that no run of the long form needs is stale, and fails.
 */
import type { Deviation } from './compare.ts';

export interface Pair {
  /** The era that the client speaks with the gateway. */
  readonly client: 'legacy' | 'modern';
  /** The era that the client spoke with the server in the run without the gateway. */
  readonly direct: 'legacy' | 'modern';
  /** The client's newest revision is 2024-11-05. */
  readonly isOldest: boolean;
}

export interface Difference {
  readonly id: string;
  readonly what: string;
  /** The sentence of the specification. */
  readonly because: string;
  readonly link: string;
  readonly isIt: (deviation: Deviation, pair: Pair) => boolean;
}

export const MOST_DIFFERENCES = 10;

const MODERN = 'https://modelcontextprotocol.io/specification/2026-07-28';
const isBridgedToModern = ({ client, direct }: Pair): boolean => client === 'modern' && direct === 'legacy';

export const DIFFERENCES: readonly Difference[] = [
  {
    id: 'revision',
    what: 'The gateway negotiates its own revision with the client, whatever it speaks with the server.',
    because:
      'If the server supports the requested protocol version, it MUST respond with the same version. Otherwise, the server ' +
      'MUST respond with another protocol version it supports.',
    link: 'https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#version-negotiation',
    isIt: ({ path }) => /^connected\.(protocolVersion|discovered\.supportedVersions(\.\d+)?)$/.test(path),
  },
  {
    id: 'result-type',
    what: 'A modern client gets `resultType` from a legacy server.',
    because: 'The `result` MUST include a `resultType` field to indicate the type of the result.',
    link: `${MODERN}/basic#result-responses`,
    isIt: ({ path, direct, through }, pair) =>
      isBridgedToModern(pair) && path.endsWith('.resultType') && direct === undefined && through === 'complete',
  },
  {
    id: 'caching-hints',
    what: 'A modern client gets caching hints from a legacy server: nothing may be kept.',
    because: 'Servers MUST include caching hints on results with `resultType: "complete"`.',
    link: `${MODERN}/server/utilities/caching`,
    isIt: ({ path, through }, pair) =>
      isBridgedToModern(pair) &&
      ((path.endsWith('.ttlMs') && through === 0) || (path.endsWith('.cacheScope') && through === 'private')),
  },
  {
    id: 'server-info',
    what: 'A modern client gets the legacy server’s info with every result, and a `server/discover` result.',
    because: "Servers SHOULD include the following `io.modelcontextprotocol/*` field in every result's `_meta`.",
    link: `${MODERN}/basic#_meta`,
    isIt: ({ path, direct, through }, pair) =>
      isBridgedToModern(pair) &&
      (direct ?? null) === null &&
      (path === 'connected.discovered' ||
        (/\.(_meta|metadata)(\.|$)/.test(path) && JSON.stringify(through).includes('serverInfo'))),
  },
  {
    id: 'tasks',
    what: 'The gateway declares tasks only where both sides have the same kind, only of tools/call, and never a list of tasks.',
    because: 'If `capabilities.tasks` is not defined, the peer SHOULD NOT attempt to create tasks during requests.',
    link: 'https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks#capability-negotiation',
    isIt: ({ path, through }) =>
      /^connected\.capabilities\.tasks(\.list|\.requests\.(prompts|resources))?$|\.execution$/.test(path) &&
      through === undefined,
  },
  {
    id: 'unasked',
    what:
      'A modern client gets a legacy server’s notifications about lists only where it subscribed, log messages where its request ' +
      'names a level and only for that request, and no request outside of its own.',
    because:
      'The server MUST NOT send notification types the client has not explicitly requested; `notifications/message` is ' +
      'request-scoped; servers MUST NOT initiate JSON-RPC requests.',
    link: `${MODERN}/basic/patterns`,
    isIt: ({ path, direct, through }, pair) =>
      isBridgedToModern(pair) &&
      ((through === undefined &&
        /^heard (roots\/list|notifications\/(message|(tools|prompts|resources)\/list_changed))/.test(path)) ||
        (direct === undefined && path.startsWith('heard notifications/message'))),
  },
  {
    id: 'older-revision',
    what:
      'A client of 2024-11-05 is not sent what its revision does not know: titles, structured content and details of the server ' +
      'are left out, resource links become text.',
    because: 'Both parties MUST respect the negotiated protocol version.',
    link: 'https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation',
    isIt: ({ path, direct, through }, { isOldest }) =>
      isOldest &&
      ((/\.(title|structuredContent|outputSchema|serverInfo\.(websiteUrl|description|icons))$/.test(path) &&
        through === undefined) ||
        (path.endsWith('.error') && JSON.stringify(direct)?.includes('resource_link')) ||
        (path.endsWith('.result') && direct === undefined && JSON.stringify(through)?.includes('resource links'))),
  },
  {
    id: 'undeclared-method',
    what:
      'The gateway itself refuses a method that the server did not declare, also where the server would answer: with `data`, and ' +
      'for modern clients over HTTP with status 404, which libraries show in their own way.',
    because:
      'If the server does not implement the requested RPC method, it MUST respond with `404 Not Found` and a JSON-RPC error with code `-32601`.',
    link: `${MODERN}/basic/transports/streamable-http`,
    isIt: ({ path, direct, through }, { client }) => {
      const isRefusal = /method_not_found|method_removed|-32601|\(404\)|Method not found/.test(
        JSON.stringify(through) ?? '',
      );
      // Some servers answer such a list all the same, and it is empty.
      const isEmpty = /^\{.*"(prompts|resources|resourceTemplates)":\[\].*\}$|^\[\]$/.test(
        JSON.stringify(direct) ?? '',
      );
      return (
        (path.endsWith('.error.code') && client === 'modern' && direct === -32601 && through === undefined) ||
        (/\.error\.(data|message)$/.test(path) && isRefusal) ||
        (path.endsWith('.error') && direct === undefined && isRefusal) ||
        (path.endsWith('.result') && through === undefined && isEmpty)
      );
    },
  },
  {
    id: 'missing-capability',
    what: 'A legacy server asks a modern client for something that the client did not declare: the call ends.',
    because:
      'If processing a request requires a capability the client did not include in `clientCapabilities`, the server MUST return a ' +
      '`MissingRequiredClientCapabilityError` (`-32021`).',
    link: `${MODERN}/basic#_meta`,
    isIt: ({ path, direct, through }, pair) =>
      isBridgedToModern(pair) &&
      ((/\.error(\.|$)/.test(path) &&
        /-32021|Missing required client capability|missing_capability/.test(JSON.stringify(through) ?? '')) ||
        (path.endsWith('.result') && through === undefined && JSON.stringify(direct)?.includes('Unsupported request'))),
  },
];
