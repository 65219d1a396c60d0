/** What an endpoint says of itself where several backends stand behind it. */
import { type Era, newest, type Revision, revisions } from '../wire/revisions.ts';
import { isObject } from '../wire/values.ts';
import { joinInstructions } from './instructions.ts';

type CapabilityMembers = Readonly<Record<string, unknown>>;

export interface BackendDiscovery {
  readonly backend: string;
  /** Undefined where the backend has not said yet what it is. */
  readonly discovery:
    | { readonly capabilities: CapabilityMembers; readonly instructions: string | undefined }
    | undefined;
  /** The page on which this principal has to agree before the backend does anything. */
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
 * What is carried through a merged endpoint. The first three may come later with a backend that is not known yet: a client
 * that was told of them asks again on `list_changed`, one that was not never asks.
 */
const lists = ['tools', 'prompts', 'resources'] as const;
const others = ['completions', 'logging'] as const;
/** Sets of named capabilities: one backend's do not speak for another's of the same name, so their members are joined. */
const sets = ['experimental', 'extensions'] as const;
/** Not carried through. */
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

/** Its tools are not listed meanwhile: without this, neither the model nor the person learns why. */
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
    // Backends go and come back: the gateway tells of it itself, whether or not they can tell of their own changes.
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

/** Anything but nothing declares a capability; what it says of it can only be read from an object. */
function declared(capabilities: CapabilityMembers | undefined, key: string): CapabilityMembers[] {
  const value = capabilities !== undefined && Object.hasOwn(capabilities, key) ? capabilities[key] : undefined;
  if (value === undefined || value === null || value === false) return [];
  return [isObject(value) ? value : {}];
}

function joined(values: readonly CapabilityMembers[]): CapabilityMembers {
  return values.reduce<CapabilityMembers>((sum, next) => join(sum, next) as CapabilityMembers, {});
}

/** Objects member by member. Of two flags the one that is set counts: some backend has it. Otherwise the first word stands. */
function join(first: unknown, second: unknown): unknown {
  if (!isObject(first) || !isObject(second)) return second === true ? true : first;
  const members = new Map(Object.entries(first));
  for (const [key, value] of Object.entries(second)) {
    members.set(key, members.has(key) ? join(members.get(key), value) : value);
  }
  return Object.fromEntries(members);
}
