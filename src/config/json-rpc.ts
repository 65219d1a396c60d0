/** Services that speak JSON-RPC 2.0 over HTTP and are not MCP, and their endpoints. */
import type { GuardSettings } from '../identity/settings.ts';
import type { EndpointConfig } from './config.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { EndpointDraft } from './endpoints.ts';
import { buildFullProfile } from './policy-profile.ts';

/** Settings about processes, sessions, revisions or tools, which JSON-RPC does not have. */
const onlyOfBackends: readonly string[] = [
  ...['command', 'args', 'env', 'cwd', 'user', 'sandbox', 'share', 'maxProcesses', 'idleMs', 'transport', 'profile'],
  ...['traces', 'credentials', 'overrides'],
];
const onlyOfEndpoints: readonly string[] = ['sessions', 'names', 'traces', 'overrides', 'budget'];
const onlyOfProfiles: readonly string[] = ['revisions', 'accept', 'elicitation', 'toolNames'];

function refuseMcpSettings(document: ConfigDocument, path: Path, names: readonly string[]): void {
  for (const key of document.keys(path) ?? []) {
    if (!names.includes(key)) continue;
    const expected = 'the setting only without `protocol: json-rpc`';
    document.reportKey([...path, key], { message: `\`${key}\` applies only to MCP`, expected });
  }
}

/** Checks the keys of a service; unlike a backend, it must have a `url`. */
export function checkService(document: ConfigDocument, path: Path): void {
  refuseMcpSettings(document, path, onlyOfBackends);
  if (document.keys(path)?.includes('url')) return;
  document.reportKey(path, { message: 'no `url`', expected: 'the http:// or https:// address of the service' });
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

export function checkRpcEndpoint(document: ConfigDocument, here: Path, draft: EndpointDraft, known: Services): void {
  const { names, services } = known;
  refuseMcpSettings(document, here, onlyOfEndpoints);
  refuseMcpSettings(document, [...here, 'profile'], onlyOfProfiles);
  refuseMcpSettings(document, [...here, 'identity', 'scopes'], ['tools']);
  const given = draft.backends ?? services;
  if (given.length !== 1) {
    const at: Path = draft.backends === undefined ? here : [...here, 'backends'];
    const expected = 'one of the backends with `protocol: json-rpc`';
    document.reportKey(at, { message: 'a JSON-RPC endpoint must have exactly one service', expected });
  }
  draft.backends?.forEach((name, at) => {
    if (services.includes(name) || !names.includes(name)) return;
    const expected = '`protocol: json-rpc` at the backend too, or at neither';
    document.report([...here, 'backends', at], { message: `\`${name}\` is an MCP server`, expected });
  });
}

/** The reverse check: an MCP endpoint must not name a service. */
export function refuseServices(document: ConfigDocument, path: Path, given: readonly string[], known: Services): void {
  given.forEach((name, at) => {
    if (!known.services.includes(name)) return;
    const expected = '`protocol: json-rpc` at the endpoint';
    document.report([...path, at], { message: `\`${name}\` is not an MCP server`, expected });
  });
}

/** No revisions: code that takes such an endpoint for MCP finds no revision to negotiate. */
export function buildRpcEndpoint(
  identity: GuardSettings,
  draft: EndpointDraft,
  { services, served }: Services,
): EndpointConfig {
  const { path, denials, sessions, names } = draft;
  const backends = (draft.backends ?? services).filter((name) => served.has(name));
  const profile = { ...buildFullProfile({ batches: 'allow', ...draft.profile }), revisions: [] };
  return { protocol: 'json-rpc', path, backends, profile, denials, identity, sessions, names, deviations: [] };
}

/** Services get no default endpoint, so warn about those without one. */
export function unreachedServices(services: Iterable<string>, endpoints: readonly EndpointConfig[]): readonly string[] {
  const led = new Set(endpoints.flatMap(({ backends }) => backends));
  return [...services]
    .filter((name) => !led.has(name))
    .map((name) => `no endpoint serves \`${name}\`: add one with \`protocol: json-rpc\``);
}
