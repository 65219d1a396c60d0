/** The merged discovery of an endpoint with several backends. */
import { type Era, newest, type Revision, revisions } from '../wire/revisions.ts';
import { isObject } from '../wire/values.ts';
import { joinInstructions } from './instructions.ts';

type CapabilityMembers = Readonly<Record<string, unknown>>;

export interface BackendDiscovery {
  readonly backend: string;
  /** Undefined if the backend has not been discovered yet. */
  readonly discovery:
    | { readonly capabilities: CapabilityMembers; readonly instructions: string | undefined }
    | undefined;
  /** The page on which this principal must consent before the backend can be used. */
  readonly consentUrl?: string | undefined;
}

export interface MergedDiscovery {
  readonly eras: readonly Era[];
  readonly revision: Revision;
  readonly capabilities: CapabilityMembers;
  readonly serverInfo: CapabilityMembers;
  readonly instructions: string | undefined;
  readonly rest: CapabilityMembers;
}

/**
 * Capabilities that a merged endpoint supports. Lists are declared even while some backend is unknown, because it may
 * add them later: a client that knows of the capability asks again on `list_changed`, others never ask.
 */
const lists = ['tools', 'prompts', 'resources'] as const;
const others = ['completions', 'logging'] as const;
/** Sets of named capabilities. Their members are joined, since backends may declare different ones. */
const sets = ['experimental', 'extensions'] as const;
/** Not supported through a merged endpoint. */
const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

export function mergeDiscoveries(parts: readonly BackendDiscovery[], about: CapabilityMembers): MergedDiscovery {
  return {
    eras: ['modern'],
    revision: newest(revisions, 'modern') as Revision,
    capabilities: mergeCapabilities(parts),
    serverInfo: about,
    instructions: joinInstructions(
      parts.map(({ backend, discovery, consentUrl }) => ({
        backend,
        text: consentUrl === undefined ? (discovery?.instructions ?? '') : consentText(consentUrl),
      })),
    ),
    rest: {},
  };
}

/** The backend's tools are not listed meanwhile. Without this text neither the model nor the person learns why. */
function consentText(url: string): string {
  return `This server cannot be used yet: it needs the user's consent. Ask the user to open ${url}`;
}

function mergeCapabilities(parts: readonly BackendDiscovery[]): CapabilityMembers {
  const merged: Record<string, unknown> = {};
  const all = (key: string): CapabilityMembers[] =>
    parts.flatMap(({ discovery }) => declared(discovery?.capabilities, key));
  const unknown = parts.some(({ discovery }) => discovery === undefined);
  for (const key of lists) {
    const found = all(key);
    // Backends go down and come back. The gateway announces that itself, whether or not they announce their own
    // changes.
    if (found.length > 0 || unknown) merged[key] = { ...joined(found), listChanged: true };
  }
  for (const key of others) {
    const found = all(key);
    if (found.length > 0) merged[key] = joined(found);
  }
  for (const key of sets) {
    const { [TASKS_EXTENSION]: _tasks, ...carried } = joined(all(key));
    if (Object.keys(carried).length > 0) merged[key] = carried;
  }
  return merged;
}

/** Any value except null and false declares a capability. Only an object can have details. */
function declared(capabilities: CapabilityMembers | undefined, key: string): CapabilityMembers[] {
  const value = capabilities !== undefined && Object.hasOwn(capabilities, key) ? capabilities[key] : undefined;
  if (value === undefined || value === null || value === false) return [];
  return [isObject(value) ? value : {}];
}

function joined(values: readonly CapabilityMembers[]): CapabilityMembers {
  return values.reduce<CapabilityMembers>((sum, next) => join(sum, next) as CapabilityMembers, {});
}

/** Joins objects member by member. A flag is set if any backend sets it. Otherwise the first value wins. */
function join(first: unknown, second: unknown): unknown {
  if (!isObject(first) || !isObject(second)) return second === true ? true : first;
  const members = new Map(Object.entries(first));
  for (const [key, value] of Object.entries(second)) {
    members.set(key, members.has(key) ? join(members.get(key), value) : value);
  }
  return Object.fromEntries(members);
}
