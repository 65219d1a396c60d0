/** The endpoints: their paths and profiles. */
import type { GuardSettings } from '../identity/settings.ts';
import type { FullProfile } from '../policy/profile.ts';
import { type Profile, type Revision, revisions } from '../wire/revisions.ts';
import type { DenialStyle, EndpointConfig, NamingSetting } from './config.ts';

/** The only revision with batches, which its implementations MUST accept. */
export const batchRevision: Revision = '2025-03-26';

export interface ProfileDraft {
  readonly revisions?: readonly Revision[] | undefined;
  readonly batches?: 'deny' | 'allow' | undefined;
  readonly accept?: 'lenient' | 'strict' | undefined;
}

export interface EndpointDraft {
  readonly sessions?: EndpointConfig['sessions'] | undefined;
  readonly names?: NamingSetting | undefined;
  readonly denials?: DenialStyle | undefined;
}

/**
 * Batches are denied by default. While they are denied, the one revision that requires them is not negotiated unless
 * the list names it. `initialize` offers its clients the newest legacy revision instead.
 * https://modelcontextprotocol.io/specification/2025-03-26/basic#batching
 */
export function buildProfile(draft: ProfileDraft = {}): Profile {
  const { batches = 'deny', accept = 'lenient' } = draft;
  const admitted = draft.revisions ?? revisions.filter((revision) => batches === 'allow' || revision !== batchRevision);
  return { revisions: revisions.filter((revision) => admitted.includes(revision)), batches, accept };
}

export function deviationsOf(profile: Profile): string[] {
  if (profile.batches === 'allow' || !profile.revisions.includes(batchRevision)) return [];
  return [`speaks ${batchRevision} but refuses batches, which that revision says MUST be received`];
}

export function buildEndpoint(
  path: string,
  backends: readonly string[],
  profile: FullProfile,
  identity: GuardSettings,
  draft: EndpointDraft = {},
): EndpointConfig {
  const { sessions = 'required', names = 'always', denials = 'error' } = draft;
  const deviations = deviationsOf(profile);
  return { path, backends: [...backends], profile, denials, sessions, names, identity, deviations };
}

/** The default: no restriction beyond those of the revisions. */
const plainProfile: FullProfile = { ...buildProfile(), elicitation: 'any', toolNames: 'any' };

/** One endpoint for all backends, and one for each. Only the path encodes the backend's name. */
export function defaultEndpoints(names: readonly string[], identity: GuardSettings): EndpointConfig[] {
  return [
    buildEndpoint('/mcp', names, plainProfile, identity),
    ...names.map((name) => buildEndpoint(`/servers/${encodeURIComponent(name)}/mcp`, [name], plainProfile, identity)),
  ];
}

/** Discovery documents are below this path (RFC 8615). */
const reserved = '/.well-known';

export const aPath = 'a path such as /mcp or /teams/blue/mcp: letters, digits, . _ ~ - and %XX, no / at its end';

/** The canonical spelling, for comparing paths; undefined if the path is invalid. */
export function canonicalPath(path: string): string | undefined {
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
