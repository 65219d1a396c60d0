/**
 * The names that spans use: OpenTelemetry's conventions for MCP, and ours for what they do not know. All of MCP has the
 * status *Development* there, so names may move: they stand here and nowhere else.
 * https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */

/** The last release of the common conventions that has the names of MCP. They have a repository of their own since. */
export const schemaUrl = 'https://opentelemetry.io/schemas/1.41.0';

export const attribute = {
  method: 'mcp.method.name',
  revision: 'mcp.protocol.version',
  session: 'mcp.session.id',
  resource: 'mcp.resource.uri',
  tool: 'gen_ai.tool.name',
  prompt: 'gen_ai.prompt.name',
  operation: 'gen_ai.operation.name',
  requestId: 'jsonrpc.request.id',
  statusCode: 'rpc.response.status_code',
  errorType: 'error.type',
  transport: 'network.transport',
  protocol: 'network.protocol.name',
  protocolVersion: 'network.protocol.version',
  clientAddress: 'client.address',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  endpoint: 'bascule.endpoint',
  backend: 'bascule.backend',
  decision: 'bascule.decision',
  rules: 'bascule.rule',
  bridge: 'bascule.bridge',
  generation: 'bascule.generation',
  outcome: 'bascule.outcome',
} as const;

/** The ways that messages take. */
export const overPipe: Readonly<Record<string, string>> = { [attribute.transport]: 'pipe' };
export const overHttp: Readonly<Record<string, string>> = {
  [attribute.transport]: 'tcp',
  [attribute.protocol]: 'http',
  [attribute.protocolVersion]: '1.1',
};

/** Names and texts come from clients and backends, in any length. */
export const LONGEST_NAME = 128;
export const LONGEST_VALUE = 256;

export function cut(text: string, most = LONGEST_VALUE): string {
  return text.length <= most ? text : text.slice(0, most);
}
