/** The text that a person sees when the gateway starts. */

import type { Config, EndpointConfig } from '../config/config.ts';
import { printable } from '../config/problems.ts';
import type { Failure } from '../errors/failure.ts';
import type { BackendState } from '../exchange/upstream-session.ts';
import { explained } from '../observe/cause.ts';
import { about } from '../wire/about.ts';

/** `listening` is where connections are accepted; clients may use a different address. */
export function greeting(
  config: Config,
  listening: string,
  notices: readonly string[],
  links: StartLinks = {},
): string {
  const { publicUrl } = config.identity;
  const url = publicUrl ?? listening;
  const { socket } = config.listen;
  const place = socket === undefined ? listening : `unix:${socket.path}`;
  // The first MCP endpoint. Unless the config says otherwise, all backends stand behind it.
  const main = config.endpoints.find(({ protocol }) => protocol === undefined);
  const address = `${url}${main?.path ?? ''}`;
  const lines = [
    `Bascule ${about.version}  ${address}${place === url ? '' : `  (listening on ${place})`}`,
    '',
    ...notices.map((notice) => `  note: ${notice}`),
    ...config.endpoints.flatMap((endpoint) => endpoint.deviations.map((text) => `  note: ${endpoint.path}: ${text}`)),
    ...(config.backends.length > 1 ? severalBackends(config, url) : []),
    ...services(config, url),
    ...(main === undefined ? [] : clients(address, main, publicUrl === undefined ? socket?.path : undefined)),
    ...linkLines(links),
    'Backends:',
  ];
  return lines.join('\n');
}

/** Pages for people. */
export interface StartLinks {
  readonly console?: string | undefined;
  /** Where people connect their own accounts at backends. */
  readonly accounts?: string | undefined;
}

function linkLines({ console: link, accounts }: StartLinks): string[] {
  const once = link?.includes('#') === true ? '  (this link works once, for ten minutes)' : '';
  const lines = [
    ...(link === undefined ? [] : [`Console:  ${link}${once}`]),
    ...(accounts === undefined ? [] : [`Accounts at backends:  ${accounts}`]),
  ];
  return lines.length === 0 ? [] : [...lines, ''];
}

/** `socket`: the only way to the address. */
function clients(address: string, { identity }: EndpointConfig, socket: string | undefined): string[] {
  const isGuarded = identity.kind === 'guarded';
  const withKey = isGuarded && identity.keys;
  const header = withKey ? " -H 'Authorization: Bearer <key>'" : '';
  return [
    'Connect a client:',
    ...(withKey ? ['  Replace <key> with an access key; `bascule key new <name>` creates one.'] : []),
    ...(isGuarded && identity.tokens ? ['  Clients that support OAuth need no key: they open the sign-in page.'] : []),
    ...(socket === undefined ? programs(address, withKey) : []),
    `  curl          curl -s ${socket === undefined ? '' : `--unix-socket ${socket} `}${address}${header} -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"curl","version":"0"}}}'`,
    '',
  ];
}

/** They connect to an address alone. */
function programs(address: string, withKey: boolean): string[] {
  const headers = withKey ? ',"headers":{"Authorization":"Bearer <key>"}' : '';
  return [
    `  Claude Code   claude mcp add --transport http bascule ${address}${withKey ? ' --header "Authorization: Bearer <key>"' : ''}`,
    `  VS Code       code --add-mcp '{"name":"bascule","type":"http","url":"${address}"${headers}}'`,
    `  Cursor        ~/.cursor/mcp.json: {"mcpServers":{"bascule":{"url":"${address}"${headers}}}}`,
  ];
}

/** JSON-RPC services are listed apart: MCP clients cannot use them. */
function services({ endpoints }: Config, url: string): string[] {
  const own = endpoints.filter(({ protocol }) => protocol === 'json-rpc');
  if (own.length === 0) return [];
  return ['JSON-RPC services:', ...own.map(({ path, backends }) => `  ${backends.join()}  ${url}${path}`), ''];
}

export function backendLine(name: string, state: BackendState): string {
  if (state.state === 'starting') return `  ${name}  starting`;
  if (state.state === 'personal') return `  ${name}  ready: each user connects with their own account`;
  if (state.state === 'refused') return `  ${name}  ${refusal(state.failure)}`;
  if (state.state === 'down') return `  ${name}  down: ${explained(state.failure)}`;
  const { eras, revision, serverInfo } = state.discovery;
  const who =
    typeof serverInfo?.name === 'string'
      ? printable(` ${serverInfo.name} ${String(serverInfo.version ?? '')}`.trimEnd())
      : '';
  return `  ${name}  ready: ${eras.join(' and ')}, ${revision},${who}`.replace(/,$/, '');
}

function refusal(failure: Failure): string {
  if (failure.reason === 'consent_needed') return `needs your consent: open ${String(failure.data?.url)}`;
  return `not usable: ${explained(failure)}`;
}

function severalBackends(config: Config, url: string): string[] {
  const own = config.endpoints.filter(({ backends, protocol }) => backends.length === 1 && protocol === undefined);
  if (own.length === 0) return [];
  return [
    'This endpoint serves all backends; each backend also has an endpoint of its own:',
    ...own.map(({ path, backends }) => `  ${backends[0]}  ${url}${path}`),
    '',
  ];
}
