/** The endpoints: their paths, backends and profiles. */
import * as z from 'zod';
import type { GuardSettings } from '../identity/settings.ts';
import { traceTrusts } from '../observe/traces/settings.ts';
import { denialStyles, type EndpointConfig, namings, protocols } from './config.ts';
import type { ConfigDocument, Path } from './document.ts';
import { endpointOverridesShape, readOverrides } from './entry-overrides.ts';
import { extensionsShape } from './extensions.ts';
import { type IdentityReading, readGuard } from './identity.ts';
import { check } from './issues.ts';
import { buildRpcEndpoint, checkRpcEndpoint, refuseServices, type Services } from './json-rpc.ts';
import type { Limits } from './limits.ts';
import { buildFullProfile, checkFullProfile, deviationsOf, profileShape } from './policy-profile.ts';
import * as shape from './shapes.ts';

/** Discovery documents are below this path (RFC 8615). */
const reserved = '/.well-known';

const path = shape.textAs(
  'a path such as /mcp or /teams/blue/mcp: letters, digits, . _ ~ - and %XX, no / at its end',
  canonicalPath,
);

const tokensExpected = 'a number of tokens, such as 8000';

const endpointShape = shape.closed('a map with `path`', {
  protocol: shape.choice(protocols).default('mcp'),
  path,
  backends: z
    .array(z.string({ error: 'the name of a backend' }), { error: 'a list of names' })
    .min(1, { error: 'at least one name' })
    .exactOptional(),
  profile: profileShape.default({}),
  denials: shape.choice(denialStyles).default('error'),
  sessions: shape.choice(['required', 'optional']).default('required'),
  names: shape.choice(namings).default('always'),
  identity: z.unknown().exactOptional(),
  traces: shape.choice(traceTrusts).exactOptional(),
  extensions: extensionsShape.exactOptional(),
  overrides: z.unknown().exactOptional(),
  budget: shape
    .closed('a map with `tokens`', { tokens: z.int({ error: tokensExpected }).min(1, { error: tokensExpected }) })
    .exactOptional(),
  tasks: shape.choice(['poll']).exactOptional(),
});
export type EndpointDraft = z.infer<typeof endpointShape>;

interface FileContext {
  /** `names`: all backends of the file; `built`: those that are not disabled. */
  readonly names: readonly string[];
  readonly built: ReadonlySet<string>;
  readonly rpc: Services;
  readonly identity: IdentityReading | undefined;
  readonly limits: Limits;
}

export function readEndpoints(
  document: ConfigDocument,
  items: readonly unknown[],
  { names, built, rpc, identity, limits }: FileContext,
): EndpointConfig[] {
  const paths = new Set<string>();
  return items.flatMap((item, at): EndpointConfig[] => {
    const here = ['endpoints', at];
    const endpoint = check(document, here, item, endpointShape);
    if (endpoint === undefined) return [];
    if (paths.has(endpoint.path)) {
      const message = 'another endpoint has this `path` already';
      document.report([...here, 'path'], { message, expected: 'a different path' });
    }
    paths.add(endpoint.path);
    checkNames(document, [...here, 'backends'], endpoint.backends ?? [], names);
    checkFullProfile(document, [...here, 'profile'], endpoint.profile, limits);
    const guard = readGuard(document, [...here, 'identity'], endpoint.identity, identity, endpoint.protocol);
    if (endpoint.protocol === 'json-rpc') {
      checkRpcEndpoint(document, here, endpoint, rpc);
      return [buildRpcEndpoint(guard, endpoint, rpc)];
    }
    refuseServices(document, [...here, 'backends'], endpoint.backends ?? [], rpc);
    const served = endpoint.backends ?? names;
    const backends = served.filter((name) => built.has(name));
    const overrides = overridesOf(document, [...here, 'overrides'], endpoint.overrides, served);
    return [{ ...buildEndpoint(endpoint, backends, guard), ...(overrides && { overrides }) }];
  });
}

function overridesOf(
  document: ConfigDocument,
  path: Path,
  given: unknown,
  served: readonly string[],
): EndpointConfig['overrides'] {
  const overrides = given === undefined ? undefined : check(document, path, given, endpointOverridesShape());
  if (overrides === undefined) return undefined;
  return Object.entries(overrides).map(([backend, entries]) => {
    const here = [...path, backend];
    if (!served.includes(backend)) {
      const message = `\`${backend}\` is no backend of this endpoint`;
      document.reportKey(here, {
        message,
        expected: `one of: ${served.join(', ')}`,
        candidates: served,
        wrong: backend,
      });
    }
    return readOverrides(document, here, backend, entries);
  });
}

function checkNames(document: ConfigDocument, path: Path, given: readonly string[], names: readonly string[]): void {
  given.forEach((name, at) => {
    const here = [...path, at];
    if (!names.includes(name)) {
      const expected = names.length === 0 ? 'a backend of this file' : `one of: ${names.join(', ')}`;
      document.report(here, { message: `there is no backend \`${name}\``, expected, candidates: names, wrong: name });
    } else if (given.indexOf(name) < at) document.report(here, { message: `\`${name}\` is in this list already` });
  });
}

function buildEndpoint(draft: EndpointDraft, backends: readonly string[], identity: GuardSettings): EndpointConfig {
  const { path, denials, sessions, names, traces, extensions, budget, tasks } = draft;
  const profile = buildFullProfile(draft.profile);
  const deviations = deviationsOf(profile);
  const chosen = {
    ...(traces && { traces }),
    ...(extensions && { extensions }),
    ...(budget && { budget }),
    ...(tasks && { tasks }),
  };
  return { path, backends, profile, denials, sessions, names, identity, ...chosen, deviations };
}

/** One endpoint for all backends, and one for each. Only the path encodes the backend's name. */
export function defaultEndpoints(names: readonly string[], identity: GuardSettings): EndpointConfig[] {
  const usual = (path: string, backends: readonly string[]) =>
    buildEndpoint({ ...endpointShape.parse({ path: '/' }), path }, backends, identity);
  return [usual('/mcp', names), ...names.map((name) => usual(`/servers/${encodeURIComponent(name)}/mcp`, [name]))];
}

/** The canonical spelling, for comparing paths; undefined if the path is invalid. */
function canonicalPath(path: string): string | undefined {
  if (path === '/') return path;
  if (path.length > 256 || !/^(?:\/(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+)+$/.test(path)) return undefined;
  if (path === reserved || path.startsWith(`${reserved}/`)) return undefined;
  const segments = path.split('/').map(decoded);
  // Clients and proxies remove dot segments before they send a path.
  if (segments.some((segment) => segment === undefined || segment === '.' || segment === '..')) return undefined;
  return segments.map((segment) => encodeURIComponent(segment!)).join('/');
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
