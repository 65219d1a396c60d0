/**
 * Everything that can be wrong with a server, as far as `doctor` names it: what it is, which rule it breaks, and the
 * cure. A step names the row and adds what it saw.
 */
interface FindingRow {
  readonly what: string;
  /** A section below https://modelcontextprotocol.io/specification/, or a whole address. */
  readonly rule: string;
  readonly cure: string;
}

const http = '2026-07-28/basic/transports/streamable-http';
const legacyHttp = '2025-11-25/basic/transports';
const authorization = '2026-07-28/basic/authorization';
const discovery = `${authorization}/authorization-server-discovery`;
const registration = `${authorization}/client-registration`;

export const findings = {
  // Connection
  unreachable: {
    what: 'The server cannot be reached',
    rule: http,
    cure: 'Check that the server runs, and that host and port are right.',
  },
  timed_out: {
    what: 'The server does not answer in time',
    rule: '2025-11-25/basic/lifecycle#timeouts',
    cure: 'Look at the log of the server. If it is only slow, try again with a longer `--timeout`.',
  },
  cut: {
    what: 'The connection was closed before the answer was complete',
    rule: `${http}#receiving-messages`,
    cure: 'Look at the log of the server, and of proxies in front of it: one of them closed the connection.',
  },
  redirected: {
    what: 'The address leads to another one',
    rule: `${http}#sending-messages`,
    cure: 'Use the address in `Location`: many clients do not follow redirects of a POST.',
  },
  process_ended: {
    what: 'The process cannot be started, or ended by itself',
    rule: '2026-07-28/basic/transports/stdio#shutdown',
    cure: 'Run the command in a terminal: it must keep running, read stdin and write messages to stdout.',
  },
  process_stays: {
    what: 'The process does not end when its standard input is closed',
    rule: '2026-07-28/basic/transports/stdio#shutdown',
    cure: 'Exit when reading standard input reports its end: clients close it to stop the server.',
  },
  stdout_noise: {
    what: 'The server writes text that is no message to standard output',
    rule: '2026-07-28/basic/transports/stdio',
    cure: 'Write logs and greetings to standard error: standard output carries messages alone.',
  },
  // Messages
  http_status: {
    what: 'The answer is an HTTP error without a JSON-RPC message',
    rule: `${http}#sending-messages`,
    cure: 'Check the path of the address: most servers use `/mcp` or `/sse`. Then look at the log of the server.',
  },
  server_error: {
    what: 'The server failed while it worked on the request',
    rule: `${http}#sending-messages`,
    cure: 'Look at the log of the server: it answers a request with an internal error.',
  },
  not_a_message: {
    what: 'The answer is no JSON-RPC message',
    rule: '2026-07-28/basic#responses',
    cure: 'Answer a request with one JSON-RPC response: `application/json`, or an event of a `text/event-stream`.',
  },
  other_id: {
    what: 'The answer has another id than the request',
    rule: '2026-07-28/basic#responses',
    cure: 'Copy the `id` of the request into the response, with its type: the number 1 and the string "1" differ.',
  },
  sse_malformed: {
    what: 'The event stream holds no readable response',
    rule: `${http}#receiving-messages`,
    cure: 'Write each message as one event: `data: ` and the JSON on one line, then an empty line.',
  },
  no_response: {
    what: 'The request got no response',
    rule: '2026-07-28/basic#responses',
    cure: 'Answer every request with a result or an error: a client would wait until its time limit.',
  },
  // Versions and handshake
  no_era: {
    what: 'The address answers neither `server/discover` nor `initialize` as an MCP server',
    rule: '2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions',
    cure: 'Check the address: most servers use the path `/mcp` or `/sse`.',
  },
  era_not_spoken: {
    what: 'The server does not speak this era of the protocol',
    rule: '2026-07-28/basic/versioning#compatibility-matrix',
    cure: 'Use clients of the other era, update the server, or put a gateway in front of it that bridges the eras.',
  },
  discover_malformed: {
    what: 'The result of `server/discover` is incomplete',
    rule: '2026-07-28/server/discover#discoverresult',
    cure: 'Answer with `supportedVersions`, `capabilities`, `resultType`, `ttlMs` and `cacheScope`.',
  },
  result_type_missing: {
    what: 'A result has no `resultType`',
    rule: '2026-07-28/basic#resulttype',
    cure: 'Add `"resultType": "complete"` to every result of revision 2026-07-28.',
  },
  initialize_malformed: {
    what: 'The result of `initialize` is incomplete',
    rule: '2025-11-25/basic/lifecycle#initialization',
    cure: 'Answer with `protocolVersion`, `capabilities` and `serverInfo` (name and version).',
  },
  version_unknown: {
    what: 'The server chose a protocol version that does not exist',
    rule: '2025-11-25/basic/lifecycle#version-negotiation',
    cure: 'Answer `initialize` with the version of the client if the server supports it, else with a published one.',
  },
  session_malformed: {
    what: 'The session id has characters that a header cannot carry',
    rule: `${legacyHttp}#session-management`,
    cure: 'Use visible ASCII characters alone, such as a random UUID.',
  },
  session_lost: {
    what: 'The server does not know the session that it just opened',
    rule: `${legacyHttp}#session-management`,
    cure: 'Keep sessions where every process of the server finds them, or route by `Mcp-Session-Id` (sticky sessions).',
  },
  notification_answered: {
    what: 'A notification is not answered with 202 and an empty body',
    rule: `${legacyHttp}#sending-messages-to-the-server`,
    cure: 'Answer notifications with `202 Accepted` and no body: some clients continue only after exactly that.',
  },
  sse_endpoint: {
    what: 'The stream does not begin with a usable `endpoint` event',
    rule: '2024-11-05/basic/transports#http-with-sse',
    cure: 'Send `event: endpoint` first, with the address for POSTs (same origin) as data.',
  },
  // Authorization
  challenge_missing: {
    what: 'A 401 has no `WWW-Authenticate` challenge',
    rule: 'https://datatracker.ietf.org/doc/html/rfc9110#section-15.5.2',
    cure: 'Send `WWW-Authenticate: Bearer resource_metadata="..."` with every 401, so that clients find the metadata.',
  },
  credentials_refused: {
    what: 'The server refuses the credentials',
    rule: `${authorization}#token-handling`,
    cure: 'Check that the token or key is valid, and that it was issued for this server (its audience).',
  },
  resource_metadata_missing: {
    what: 'There is no protected resource metadata',
    rule: `${discovery}#protected-resource-metadata-discovery-requirements`,
    cure: 'Serve it below `/.well-known/oauth-protected-resource`, and name its address in the challenge.',
  },
  resource_metadata_malformed: {
    what: 'The protected resource metadata is malformed',
    rule: `${discovery}#authorization-server-location`,
    cure: 'Serve a JSON object with `resource` and at least one entry in `authorization_servers`.',
  },
  other_resource: {
    what: 'The protected resource metadata belongs to another resource',
    rule: 'https://datatracker.ietf.org/doc/html/rfc9728#section-3.3',
    cure: 'Set `resource` to the address that clients use; behind a proxy, configure the public address.',
  },
  server_metadata_missing: {
    what: 'There is no metadata of the authorization server',
    rule: `${discovery}#authorization-server-metadata-discovery`,
    cure: 'Serve RFC 8414 or OpenID Connect metadata at one of the addresses that were tried.',
  },
  server_metadata_malformed: {
    what: 'The metadata of the authorization server is malformed',
    rule: 'https://datatracker.ietf.org/doc/html/rfc8414#section-2',
    cure: 'Serve a JSON object with `issuer`, `authorization_endpoint` and `token_endpoint`.',
  },
  other_issuer: {
    what: 'The metadata of the authorization server names another issuer',
    rule: 'https://datatracker.ietf.org/doc/html/rfc8414#section-3.3',
    cure: 'Make `issuer` in that metadata identical to the entry in `authorization_servers`.',
  },
  pkce_missing: {
    what: 'The authorization server does not declare PKCE with S256',
    rule: `${authorization}/security-considerations#authorization-code-protection`,
    cure: 'Add `"code_challenge_methods_supported": ["S256"]` to its metadata: clients must refuse to go on without.',
  },
  no_registration: {
    what: 'A new client cannot get a client id',
    rule: `${registration}`,
    cure: 'Support client ID metadata documents or dynamic registration, or give people a client id (`--client-id`).',
  },
  registration_refused: {
    what: 'The authorization server refuses the registration',
    rule: 'https://datatracker.ietf.org/doc/html/rfc7591#section-3.2.2',
    cure: 'Allow public native clients with a redirect to http://127.0.0.1, or register one by hand (`--client-id`).',
  },
  authorize_refused: {
    what: 'The authorization server did not send a code',
    rule: `${authorization}#authorization-flow-steps`,
    cure: 'Read the error in the redirect, and the log of the authorization server.',
  },
  redirect_invalid: {
    what: 'The redirect does not belong to this request',
    rule: `${authorization}#authorization-response-validation`,
    cure: 'Return `state` unchanged, and `iss` as the issuer in the metadata.',
  },
  token_refused: {
    what: 'The token endpoint did not issue a usable token',
    rule: 'https://datatracker.ietf.org/doc/html/rfc6749#section-5.1',
    cure: 'Answer with `access_token` and `token_type: Bearer`; look at the log of the authorization server.',
  },
  // Lists and calls
  list_refused: {
    what: 'The server declares a capability and refuses its list',
    rule: '2026-07-28/server/tools#capabilities',
    cure: 'Answer the list, with an empty one if there is nothing, or do not declare the capability.',
  },
  list_malformed: {
    what: 'A list does not have the shape that the schema requires',
    rule: '2026-07-28/schema',
    cure: 'Compare the entry that is named with the schema of this revision.',
  },
  pagination_endless: {
    what: 'The pages of a list do not end',
    rule: '2026-07-28/server/utilities/pagination#response-format',
    cure: 'Leave out `nextCursor` on the last page, and never return a cursor that leads back.',
  },
  call_refused: {
    what: 'The call is answered with an error',
    rule: '2026-07-28/server/tools#error-handling',
    cure: 'Check the name of the tool and its arguments against the list.',
  },
  session_end: {
    what: 'The session cannot be ended',
    rule: `${legacyHttp}#session-management`,
    cure: 'Answer `DELETE` with 200 or 204, or with 405 if clients may not end sessions.',
  },
} as const satisfies Record<string, FindingRow>;

export type FindingId = keyof typeof findings;

/** The address of a rule. */
export function ruleLink(rule: string): string {
  return rule.includes('://') ? rule : `https://modelcontextprotocol.io/specification/${rule}`;
}
