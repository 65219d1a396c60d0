/**
 * One row per method. Routing, merging, authorization, header checks and bridging all read the same row, so a method is
 * known everywhere or nowhere.
 */
import { extensions } from './extensions.ts';
import { atLeast, type Era, type Revision } from './revisions.ts';

export interface MethodRow {
  readonly method: string;
  readonly kind: 'request' | 'notification';
  readonly from: 'client' | 'server' | 'either';
  /** First and last revision with the method. Without `until`, the newest revision still has it. */
  readonly since: Revision;
  readonly until?: Revision;
  /** The parameter that names the method's target, mirrored in `Mcp-Name` if `mirrored` is set. */
  readonly name?: 'name' | 'uri' | 'ref' | 'taskId';
  readonly mirrored?: true;
  /** For lists: the member of the result that holds the entries. */
  readonly list?: 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'skills';
  /** Not a list of its own: the result of one target has entries of this list. */
  readonly entries?: 'resources';
  /** The server capability that the method requires. */
  readonly capability?: 'tools' | 'prompts' | 'resources' | 'resources.subscribe' | 'logging' | 'completions' | 'tasks';
  /**
   * The extension that defines the method, and the setting by which a server declares it. With a capability as well:
   * that was what declared the method before the modern era.
   */
  readonly extension?: string;
  readonly setting?: string;
  /** First revision with the capability, if the method is older: before that, nothing declares the method. */
  readonly capabilitySince?: Revision;
  /** The action's name in policy. */
  readonly action: string;
  /** May be settled with `input_required`. A legacy backend may send server requests during it. */
  readonly mayAsk?: true;
  /** May be sent again when it is unknown whether the backend received it. */
  readonly replayable?: true;
  /** Has no total time limit. */
  readonly longLived?: true;
  /** Is answered when something else is over: until then silence proves nothing, and only the total time is limited. */
  readonly blocks?: true;
  /** Carries `ttlMs` and `cacheScope` in the modern era. */
  readonly cacheable?: true;
  /** Answered by the gateway itself. */
  readonly ours?: true;
}

export type ListName = NonNullable<MethodRow['list']>;

type MethodFacts = Omit<MethodRow, 'method' | 'kind'>;

const request = (method: string, facts: MethodFacts): MethodRow => ({ method, kind: 'request', ...facts });
const notification = (method: string, facts: MethodFacts): MethodRow => ({ method, kind: 'notification', ...facts });

const first = '2024-11-05';
const lastLegacy = '2025-11-25';
const modern = '2026-07-28';

const rows: readonly MethodRow[] = [
  // Lifecycle
  request('initialize', { from: 'client', since: first, until: lastLegacy, action: 'connect', ours: true }),
  request('server/discover', {
    from: 'client',
    since: modern,
    action: 'connect',
    ours: true,
    replayable: true,
    cacheable: true,
  }),
  request('ping', { from: 'either', since: first, until: lastLegacy, action: 'ping', ours: true, replayable: true }),
  notification('notifications/initialized', { from: 'client', since: first, until: lastLegacy, action: 'connect' }),
  notification('notifications/cancelled', { from: 'either', since: first, action: 'cancel', ours: true }),
  notification('notifications/progress', { from: 'either', since: first, action: 'progress' }),

  // Tools
  request('tools/list', {
    from: 'client',
    since: first,
    capability: 'tools',
    list: 'tools',
    action: 'list',
    replayable: true,
    cacheable: true,
  }),
  request('tools/call', {
    from: 'client',
    since: first,
    capability: 'tools',
    name: 'name',
    mirrored: true,
    action: 'call',
    mayAsk: true,
  }),
  notification('notifications/tools/list_changed', {
    from: 'server',
    since: first,
    capability: 'tools',
    action: 'notify',
  }),

  // Prompts
  request('prompts/list', {
    from: 'client',
    since: first,
    capability: 'prompts',
    list: 'prompts',
    action: 'list',
    replayable: true,
    cacheable: true,
  }),
  request('prompts/get', {
    from: 'client',
    since: first,
    capability: 'prompts',
    name: 'name',
    mirrored: true,
    action: 'get',
    mayAsk: true,
    replayable: true,
  }),
  notification('notifications/prompts/list_changed', {
    from: 'server',
    since: first,
    capability: 'prompts',
    action: 'notify',
  }),

  // Resources
  request('resources/list', {
    from: 'client',
    since: first,
    capability: 'resources',
    list: 'resources',
    action: 'list',
    replayable: true,
    cacheable: true,
  }),
  request('resources/templates/list', {
    from: 'client',
    since: first,
    capability: 'resources',
    list: 'resourceTemplates',
    action: 'list',
    replayable: true,
    cacheable: true,
  }),
  request('resources/read', {
    from: 'client',
    since: first,
    capability: 'resources',
    name: 'uri',
    mirrored: true,
    action: 'read',
    mayAsk: true,
    replayable: true,
    cacheable: true,
  }),
  request('resources/subscribe', {
    from: 'client',
    since: first,
    until: lastLegacy,
    capability: 'resources.subscribe',
    name: 'uri',
    action: 'subscribe',
    replayable: true,
  }),
  request('resources/unsubscribe', {
    from: 'client',
    since: first,
    until: lastLegacy,
    capability: 'resources',
    name: 'uri',
    action: 'subscribe',
    replayable: true,
  }),
  notification('notifications/resources/list_changed', {
    from: 'server',
    since: first,
    capability: 'resources',
    action: 'notify',
  }),
  notification('notifications/resources/updated', {
    from: 'server',
    since: first,
    capability: 'resources',
    name: 'uri',
    action: 'notify',
  }),
  request('subscriptions/listen', {
    from: 'client',
    since: modern,
    action: 'subscribe',
    longLived: true,
    replayable: true,
  }),
  notification('notifications/subscriptions/acknowledged', { from: 'server', since: modern, action: 'notify' }),

  // Utilities
  request('completion/complete', {
    from: 'client',
    since: first,
    capability: 'completions',
    capabilitySince: '2025-03-26',
    name: 'ref',
    action: 'complete',
    replayable: true,
  }),
  request('logging/setLevel', {
    from: 'client',
    since: first,
    until: lastLegacy,
    capability: 'logging',
    action: 'log',
    replayable: true,
  }),
  notification('notifications/message', { from: 'server', since: first, capability: 'logging', action: 'notify' }),

  // Server requests
  request('elicitation/create', { from: 'server', since: '2025-06-18', action: 'ask' }),
  request('sampling/createMessage', { from: 'server', since: first, action: 'ask' }),
  request('roots/list', { from: 'server', since: first, action: 'ask' }),
  notification('notifications/roots/list_changed', {
    from: 'client',
    since: first,
    until: lastLegacy,
    action: 'notify',
  }),
  notification('notifications/elicitation/complete', {
    from: 'server',
    since: lastLegacy,
    until: lastLegacy,
    action: 'notify',
  }),

  // Tasks, as far as only 2025-11-25 has them
  request('tasks/result', {
    from: 'either',
    since: lastLegacy,
    until: lastLegacy,
    capability: 'tasks',
    name: 'taskId',
    action: 'task',
    mayAsk: true,
    replayable: true,
    blocks: true,
  }),
  request('tasks/list', { from: 'either', since: lastLegacy, until: lastLegacy, capability: 'tasks', action: 'task' }),
  notification('notifications/tasks/status', {
    from: 'either',
    since: lastLegacy,
    until: lastLegacy,
    capability: 'tasks',
    action: 'notify',
  }),
];

export const methods: readonly MethodRow[] = [...rows, ...extensions.flatMap(({ methods: own = [] }) => own)];

const byMethod = new Map(methods.map((row) => [row.method, row]));

export function methodRow(method: string): MethodRow | undefined {
  return byMethod.get(method);
}

/** Whether a revision has the method. */
export function has(revision: Revision, row: MethodRow): boolean {
  return revision >= row.since && (row.until === undefined || revision <= row.until);
}

/** Whether any revision of the era has the method. */
export function eraHas(era: Era, row: MethodRow): boolean {
  return era === 'modern' ? has(modern, row) : row.since < modern;
}

/** What a backend says of itself. */
interface Declared {
  readonly revision: Revision;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** Whether a backend offers a method: whether it declares the capability, such as `resources.subscribe`. */
export function offers({ revision, capabilities }: Declared, row: MethodRow): boolean {
  const { capability, capabilitySince } = row;
  if (row.extension !== undefined && (capability === undefined || revision >= modern))
    return declares(capabilities, row);
  if (capability === undefined) return true;
  if (capabilitySince !== undefined && !atLeast(revision, capabilitySince)) return true;
  const dot = capability.indexOf('.');
  const area = capabilities[dot === -1 ? capability : capability.slice(0, dot)];
  const declared =
    dot === -1 ? area : (area as Record<string, unknown> | null | undefined)?.[capability.slice(dot + 1)];
  return declared !== undefined && declared !== null && declared !== false;
}

function declares(capabilities: Declared['capabilities'], { extension = '', setting }: MethodRow): boolean {
  const settings = memberOf(memberOf(capabilities, 'extensions'), extension);
  if (typeof settings !== 'object' || settings === null) return false;
  return setting === undefined || memberOf(settings, setting) === true;
}

function memberOf(object: unknown, key: string): unknown {
  if (typeof object !== 'object' || object === null || !Object.hasOwn(object, key)) return undefined;
  return (object as Record<string, unknown>)[key];
}
