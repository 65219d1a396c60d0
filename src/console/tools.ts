/**
 * The tools that a principal sees at an endpoint, and why each other tool is missing. Five reasons, and no sixth word
 * for them: withheld, hidden, off, failing, never asked.
 */
import { mayFind } from '../budget/may-find.ts';
import { planOf, tokensOf } from '../budget/plan.ts';
import type { ListPart, Reader } from '../catalog/list-reader.ts';
import { isMerged } from '../catalog/name-resolver.ts';
import { overridesAt } from '../catalog/overrides/names.ts';
import { overriddenEntries } from '../catalog/overrides/overlay.ts';
import { problemsIn } from '../catalog/overrides/reports.ts';
import { ModernReader } from '../catalog/readers.ts';
import type { BackendList, ListedEntry } from '../catalog/view.ts';
import { failures, isAboutCredentials } from '../errors/failure.ts';
import type { Endpoint } from '../exchange/arrival.ts';
import type { Backend } from '../exchange/upstream-session.ts';
import { localPrincipal, type Principal, shownPrincipal } from '../identity/principal.ts';
import { explanationOf } from '../observe/cause.ts';
import type { OfferedEntry, PinGuard } from '../pins/ports.ts';
import type { Generation } from '../pipeline/generation.ts';
import { about } from '../wire/about.ts';
import { readCapabilities } from '../wire/capabilities.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { newest, type Revision, revisions } from '../wire/revisions.ts';
import { isObject, valueAt } from '../wire/values.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';

const row = methodRow('tools/list') as MethodRow;
/** Reads lists that all principals share, without the credentials of a caller. */
const onlooker: Principal = { ...localPrincipal(new Set()), key: 'console' };
const client = {
  revision: newest(revisions, 'modern') as Revision,
  info: JSON.stringify({ name: 'bascule-console', version: about.version }),
  capabilities: readCapabilities({}),
};
/** Of a description: more is in the tool's own list. */
const DESCRIPTION = 500;

/** What is known of one backend's list. */
interface Known {
  readonly backend: string;
  readonly part: ListPart | 'never asked';
  readonly state: Backend['state'] | undefined;
}

export async function tools(
  ports: ConsolePorts,
  path: string,
  principal: Principal,
  operator: Operator,
): Promise<object> {
  const generation = ports.currentGeneration.now;
  const endpoint = generation.endpoints.get(path);
  if (endpoint === undefined || endpoint.protocol !== undefined)
    throw new ConsoleRefusal(404, 'unknown_endpoint', `There is no MCP endpoint at ${path}`);
  const isOwn = principal.key === operator.principal.key;
  const lists = await Promise.all(endpoint.backends.map((name) => read(ports, generation, name, principal, isOwn)));
  const found = lists.flatMap(({ part }) =>
    part !== undefined && typeof part === 'object' && 'entries' in part ? [part] : [],
  );
  const view = isMerged(endpoint) ? ports.lists.view(endpoint, row, found) : undefined;
  const places = view?.places ?? found.flatMap((list) => placesAlone(endpoint, list));
  const to = { principal, endpoint };
  const { pins } = generation;
  const held = pins && new Set(found.flatMap(({ backend, entries }) => heldKeys(pins, backend, entries)));
  const facts = places.map((place) => toolFacts(generation, to, place, held));
  return {
    now: ports.timeOfDay(),
    endpoint: path,
    who: shownPrincipal(principal),
    isOwn,
    admitted: generation.authenticator.admits(path, principal),
    tools: [...facts, ...overriddenTools(endpoint, found, places)],
    cost: costOf(
      generation,
      to,
      places.filter((_place, at) => isShown(facts[at])),
    ),
    // Two backends have the name, and the endpoint renames nothing: neither can be reached.
    collisions: view?.collisions ?? [],
    backends: [
      ...lists.map((known) => listFacts(ports, known)),
      ...generation.config.disabled.map((backend) => ({ backend, state: 'off', message: '`disabled` in the config' })),
    ],
  };
}

/**
 * A backend with an account for each person is asked only for the operator's own list: an operator cannot use the
 * credentials of another person.
 */
async function read(
  ports: ConsolePorts,
  { backends }: Generation,
  name: string,
  principal: Principal,
  isOwn: boolean,
): Promise<Known> {
  const shared = backends.get(name);
  const isPersonal = shared?.ownOf !== undefined;
  if (isPersonal && !isOwn) return { backend: name, part: 'never asked', state: shared?.state };
  const reader: Reader = new ModernReader(ports.upstreams, isPersonal ? principal : onlooker, client);
  const part = await ports.lists.parts.part(name, row, reader);
  return { backend: name, part, state: backends.of(name, reader.principal)?.state };
}

function listFacts(ports: ConsolePorts, { backend, part, state }: Known): object {
  if (part === 'never asked')
    return {
      backend,
      state: 'never asked',
      message: 'Each person has an account of their own here: only they can ask for their list',
    };
  if (part !== undefined && 'entries' in part)
    return { backend, state: 'read', at: wall(ports, part.readAt), tools: part.entries.length };
  const failure = state !== undefined && 'failure' in state ? state.failure : undefined;
  if (failure !== undefined) {
    // The list may exist, and the backend does not show it to this person.
    const isWithheld = isAboutCredentials(failure) || state?.state === 'refused';
    return { backend, state: isWithheld ? 'withheld' : 'failing', message: failure.message, ...explanationOf(failure) };
  }
  if (part === undefined)
    return state?.state === 'ready'
      ? { backend, state: 'read', tools: 0, message: 'The backend says that it has no tools' }
      : { backend, state: 'never asked', message: 'The backend has not answered yet' };
  const { reason } = part;
  return { backend, state: 'failing', reason, message: failures[reason].message };
}

function wall({ clock, timeOfDay }: ConsolePorts, time: number): number {
  return timeOfDay() - (clock.now() - time);
}

interface ToolViewer {
  readonly principal: Principal;
  readonly endpoint: Endpoint;
}

function toolFacts(
  { authorizer }: Generation,
  to: ToolViewer,
  { backend, name, clientName, ruleName = clientName, bytes }: ListedEntry,
  held: ReadonlySet<string> | undefined,
): object {
  const value = valueAt(bytes, { start: 0, end: bytes.byteLength });
  const { title, description, annotations, inputSchema } = isObject(value) ? value : {};
  const thing = { kind: 'tool', name: ruleName, own: name } as const;
  const hiding = authorizer.visibility.hiding(to, backend, thing, () => annotations);
  return {
    name: clientName,
    backend,
    own: name === clientName ? undefined : name,
    title: textOf(title),
    description: textOf(description),
    annotations: isObject(annotations) ? annotations : undefined,
    inputSchema,
    tokens: tokensOf(bytes),
    ...(held?.has(placeKey(backend, name)) === true
      ? { state: 'hidden', why: 'Pins hold it: `bascule pins diff` shows what changed' }
      : hiding === undefined
        ? { state: 'shown' }
        : { state: 'hidden', ...whyHidden(hiding) }),
  };
}

/** The list of an endpoint's only backend. */
function placesAlone(endpoint: Endpoint, { backend, entries }: BackendList): readonly ListedEntry[] {
  const names = overridesAt(endpoint)?.of(backend, 'tool');
  const shown = names === undefined ? entries : overriddenEntries(backend, entries, names).entries;
  return shown.map(({ key, bytes }) => {
    const name = names?.ownOf(key) ?? key;
    return { backend, name, clientName: key, ruleName: name, bytes };
  });
}

/** Tools that overrides hide, and overrides that fit no tool. */
function overriddenTools(
  endpoint: Endpoint,
  lists: readonly BackendList[],
  places: readonly ListedEntry[],
): readonly object[] {
  const overrides = overridesAt(endpoint);
  return lists.flatMap(({ backend, entries }) => {
    const names = overrides?.of(backend, 'tool');
    if (overrides === undefined || names === undefined) return [];
    const { withheld } = overriddenEntries(backend, entries, names);
    const hidden = names.entries.filter(({ hide }) => hide === true);
    const told = [
      ...hidden.map(({ own }) => ({ own, why: 'An override hides it' })),
      ...problemsIn(overrides, 'tool', [{ backend, entries }], withheld),
    ];
    const listed = new Set(places.filter((place) => place.backend === backend).map(({ name }) => name));
    return told.flatMap(({ own, why }) => (listed.has(own) ? [] : [{ name: own, backend, state: 'hidden', why }]));
  });
}

function isShown(facts: object | undefined): boolean {
  return facts !== undefined && 'state' in facts && facts.state === 'shown';
}

/** What the list costs this caller, in estimated tokens. */
function costOf(
  { authorizer }: Generation,
  { principal, endpoint }: ToolViewer,
  places: readonly ListedEntry[],
): object {
  const { budget } = endpoint;
  const whole = places.reduce((sum, { bytes }) => sum + tokensOf(bytes), 0);
  if (budget === undefined) return { listed: whole, whole };
  const { tokens, stubs } = planOf(places, budget, mayFind(authorizer, endpoint, principal));
  return { budget: budget.tokens, listed: tokens, whole, stubs: stubs.size };
}

function heldKeys(pins: PinGuard, backend: string, entries: readonly OfferedEntry[]): readonly string[] {
  return [...pins.heldIn(backend, 'tool', entries)].map((name) => placeKey(backend, name));
}

/** No backend has a space in its name. */
function placeKey(backend: string, name: string): string {
  return `${backend} ${name}`;
}

function whyHidden(hiding: 'profile' | readonly string[]): object {
  if (hiding === 'profile') return { why: 'The profile of the endpoint admits only plain names' };
  if (hiding.length === 0) return { rules: [], why: 'No rule allows it' };
  return { rules: hiding, why: `Hidden by ${hiding.join(', ')}` };
}

function textOf(value: unknown): string | undefined {
  return typeof value !== 'string' ? undefined : value.length > DESCRIPTION ? `${value.slice(0, DESCRIPTION)}…` : value;
}
