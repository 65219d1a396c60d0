/** The merged discovery of an endpoint with several backends. */
import type { Discovery } from '../exchange/upstream-session.ts';
import { extensionsIn, mergeExtensions } from '../wire/declared-extensions.ts';
import { newest, type Revision, revisions } from '../wire/revisions.ts';
import { offeredTasks } from '../wire/tasks.ts';
import { isObject } from '../wire/values.ts';

type CapabilityMembers = Readonly<Record<string, unknown>>;

export interface BackendDiscovery {
  readonly backend: string;
  /** Undefined if the backend has not been discovered yet. */
  readonly discovery: Pick<Discovery, 'revision' | 'capabilities' | 'instructions'> | undefined;
  /** The page on which this principal must consent before the backend can be used. */
  readonly consentUrl?: string | undefined;
}

/**
 * Capabilities that a merged endpoint supports. Lists are declared even while some backend is unknown, because it may
 * add them later: a client that knows of the capability asks again on `list_changed`, others never ask.
 */
const lists = ['tools', 'prompts', 'resources'] as const;
const others = ['completions', 'logging'] as const;

export function mergeDiscoveries(parts: readonly BackendDiscovery[], about: CapabilityMembers): Discovery {
  const coreTasks = offeredTasks(parts.flatMap(({ discovery }) => discovery ?? []));
  return {
    eras: ['modern'],
    revision: newest(revisions, 'modern') as Revision,
    capabilities: mergeCapabilities(parts),
    serverInfo: about,
    instructions: joinInstructions(
      parts.map(({ backend, discovery, consentUrl }) => ({
        backend,
        // The page comes first, because long instructions are cut.
        text: joinTexts(consentUrl && consentText(consentUrl), discovery?.instructions),
      })),
    ),
    ...(coreTasks && { coreTasks }),
    rest: {},
  };
}

/** One backend's own discovery, and where the principal has to consent. The page is for this principal alone. */
export function awaitingConsent(discovery: Discovery, url: string): Discovery {
  const { instructions, rest } = discovery;
  return {
    ...discovery,
    instructions: joinTexts(instructions, consentText(url)),
    rest: { ...rest, ttlMs: 0, cacheScope: 'private' },
  };
}

function joinTexts(...texts: readonly (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined && text !== '').join('\n\n');
}

/** The backend's tools cannot be called meanwhile. Without this text neither the model nor the person learns why. */
function consentText(url: string): string {
  return `This server needs the user's consent before it can be used. Ask the user to open ${url} (${listAt(url)} lists all servers that need one)`;
}

/** The list of accounts is beside the page of each consent; its address is the same for everybody. */
function listAt(url: string): string {
  return url.slice(0, url.lastIndexOf('/'));
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
  // Sets of named capabilities, of which each backend may declare different ones.
  const experimental = joined(all('experimental'));
  if (Object.keys(experimental).length > 0) merged.experimental = experimental;
  const extensions = mergeExtensions(parts.map(({ discovery }) => extensionsIn(discovery?.capabilities ?? {})));
  if (Object.keys(extensions).length > 0) merged.extensions = extensions;
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

/**
 * Joins the backends' instructions into one text with headings. Clients put it into a model's prompt, so its length
 * costs every request.
 */

/** About a thousand tokens: more than the instructions of common servers, less than a manual. */
const BACKEND_LENGTH = 4_000;
/** About five thousand tokens for the whole endpoint, not counting headings and remarks. */
const TOTAL_LENGTH = 20_000;
/** A text that would be cut to less than this is left out entirely. */
const LEAST_LENGTH = 200;

/**
 * Joins the backends' instructions into one text with headings. Clients put it into a model's prompt, so its length
 * costs every request.
 */
function joinInstructions(parts: readonly { readonly backend: string; readonly text: string }[]): string | undefined {
  let left = TOTAL_LENGTH;
  const sections: string[] = [];
  const omitted: string[] = [];
  for (const { backend, text: whole } of parts) {
    const text = whole.trim();
    if (text === '') continue;
    const room = Math.min(BACKEND_LENGTH, left);
    if (text.length > room && room < LEAST_LENGTH) {
      omitted.push(backend);
      continue;
    }
    const kept = text.length <= room ? text : shorten(text, room);
    left -= kept.length;
    const remark = kept.length === text.length ? '' : `\n\n[Shortened: ${kept.length} of ${text.length} characters]`;
    sections.push(`## ${backend}\n\n${kept}${remark}`);
  }
  if (omitted.length > 0)
    sections.push(`[Left out because of their length: the instructions of ${omitted.join(', ')}]`);
  return sections.length === 0 ? undefined : sections.join('\n\n');
}

/** Cuts at a line or else a word, unless that would cost half of the text; never inside a character. */
function shorten(text: string, length: number): string {
  const cut = text.slice(0, length);
  const line = cut.lastIndexOf('\n');
  const word = cut.lastIndexOf(' ');
  const end = line >= length / 2 ? line : word >= length / 2 ? word : length;
  return cut
    .slice(0, end)
    .replace(/[\ud800-\udbff]$/, '')
    .trimEnd();
}
