/** Services that speak JSON-RPC 2.0 over HTTP and are not MCP, and their endpoints. */
import type { GuardSettings } from '../identity/settings.ts';
import type { FullProfile } from '../policy/profile.ts';
import type { BackendDraft } from './backends.ts';
import type { DenialStyle, EndpointConfig, ServiceConfig } from './config.ts';
import type { ConfigDocument, Path } from './document.ts';
import { ownLimits } from './limits.ts';
import type { FullProfileDraft } from './policy-profile.ts';

export const protocols = ['mcp', 'json-rpc'] as const;

/** Settings about processes, sessions, revisions or tools, which JSON-RPC does not have. */
const onlyOfBackends: readonly string[] = [
  ...['command', 'args', 'env', 'cwd', 'user', 'share', 'maxProcesses', 'idleMs', 'transport', 'profile'],
];
const onlyOfEndpoints: readonly string[] = ['sessions', 'names'];
const onlyOfProfiles: readonly string[] = ['revisions', 'accept', 'elicitation', 'toolNames'];

function refuseMcpSettings(document: ConfigDocument, path: Path, names: readonly string[]): void {
  for (const key of document.keys(path) ?? []) {
    if (!names.includes(key)) continue;
    const expected = 'it where there is no `protocol: json-rpc`';
    document.reportKey([...path, key], { message: `\`${key}\` is a setting of MCP`, expected });
  }
}

/** Checks the keys of a service; unlike a backend, it must have a `url`. */
export function checkService(document: ConfigDocument, path: Path): void {
  refuseMcpSettings(document, path, onlyOfBackends);
  if (document.keys(path)?.includes('url')) return;
  document.reportKey(path, { message: 'no `url`', expected: 'the http:// or https:// address of the service' });
}

export function buildService(draft: BackendDraft): ServiceConfig {
  const { name, url = '', headers = {} } = draft;
  return { name, url, headers: { ...headers }, ...ownLimits(draft) };
}

export interface RpcEndpointDraft {
  readonly backends?: readonly string[] | undefined;
  readonly profile?: FullProfileDraft | undefined;
  readonly denials?: DenialStyle | undefined;
}

export interface Services {
  /**
   * `names`: all backends of the file; `services`: those that are services; `served`: those of them that are not
   * disabled.
   */
  readonly names: readonly string[];
  readonly services: readonly string[];
  readonly served: ReadonlySet<string>;
}

export function checkRpcEndpoint(document: ConfigDocument, here: Path, draft: RpcEndpointDraft, known: Services): void {
  const { names, services } = known;
  refuseMcpSettings(document, here, onlyOfEndpoints);
  refuseMcpSettings(document, [...here, 'profile'], onlyOfProfiles);
  refuseMcpSettings(document, [...here, 'identity', 'scopes'], ['tools']);
  const given = draft.backends ?? services;
  if (given.length !== 1) {
    const at: Path = draft.backends === undefined ? here : [...here, 'backends'];
    const expected = 'one of the backends with `protocol: json-rpc`';
    document.reportKey(at, { message: 'a JSON-RPC endpoint leads to one service', expected });
  }
  draft.backends?.forEach((name, at) => {
    if (services.includes(name) || !names.includes(name)) return;
    const expected = '`protocol: json-rpc` at the backend, or none at the endpoint';
    document.report([...here, 'backends', at], { message: `\`${name}\` is an MCP server`, expected });
  });
}

/** The reverse check: an MCP endpoint must not name a service. */
export function refuseServices(document: ConfigDocument, path: Path, given: readonly string[], known: Services): void {
  given.forEach((name, at) => {
    if (!known.services.includes(name)) return;
    const expected = '`protocol: json-rpc` at the endpoint';
    document.report([...path, at], { message: `\`${name}\` is no MCP server`, expected });
  });
}

export function buildRpcEndpoint(
  path: string,
  identity: GuardSettings,
  draft: RpcEndpointDraft,
  { services, served }: Services,
): EndpointConfig {
  const { denials = 'error' } = draft;
  const backends = (draft.backends ?? services).filter((name) => served.has(name));
  const profile = rpcProfile(draft.profile);
  return {
    ...{ protocol: 'json-rpc', path, backends, profile, denials, identity },
    ...{ sessions: 'required', names: 'always', deviations: [] },
  };
}

/** No revisions: code that takes such an endpoint for MCP finds no revision to negotiate. */
function rpcProfile({ batches = 'allow', bodyBytes, jsonDepth }: FullProfileDraft = {}): FullProfile {
  return {
    revisions: [],
    batches,
    accept: 'lenient',
    elicitation: 'any',
    toolNames: 'any',
    ...(bodyBytes !== undefined && { bodyBytes }),
    ...(jsonDepth !== undefined && { jsonDepth }),
  };
}

/** Services get no default endpoint, so warn about those without one. */
export function unreachedServices(services: Iterable<string>, endpoints: readonly EndpointConfig[]): readonly string[] {
  const led = new Set(endpoints.flatMap(({ backends }) => backends));
  return [...services]
    .filter((name) => !led.has(name))
    .map((name) => `no endpoint leads to \`${name}\`: one with \`protocol: json-rpc\` would`);
}
