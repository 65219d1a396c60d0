/**
 * One row per extension of the protocol. What is advertised to clients, declared to backends, passed on and renamed all
 * reads the same row, and nothing else knows an identifier. An extension without a row passes only where the config
 * says so, and then as data: none of its methods is known.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extensions
 */
import type { ListName, MethodRow } from './methods.ts';
import type { Revision } from './revisions.ts';

/** Where a URI stands within JSON: the names of members from the outermost on. `*` is each element of an array. */
export type UriPath = readonly string[];

export interface ExtensionRow {
  readonly id: string;
  /** The first revision in which the gateway carries it. */
  readonly since: Revision;
  /** Its methods. They are known like those of the core, to backends that declare the extension. */
  readonly methods?: readonly MethodRow[];
  /** Clients use its methods and filters only in requests that declare it. */
  readonly declaredByClients?: true;
  /** Result types that it adds, by the methods that may have them. Only clients that declare it get them. */
  readonly resultTypes?: Readonly<Record<string, readonly string[]>>;
  /** Members of the filter of `subscriptions/listen` that it adds. */
  readonly filters?: readonly string[];
  /**
   * The settings of clients by which backends may choose what they list, and the known values of each. Others are not
   * declared when lists are read: a client could make the gateway keep as many lists as it likes.
   */
  readonly listSettings?: Readonly<Record<string, readonly string[]>>;
  /** The scheme of its resources. Hosts look for it, so a merged endpoint names the backend behind it. */
  readonly scheme?: string;
  /** Where its URIs stand, apart from the members that the core has. */
  readonly uris?: {
    /** In entries of lists, by list. */
    readonly entries?: Readonly<Partial<Record<ListName, readonly UriPath[]>>>;
    /** In results, by method. */
    readonly results?: Readonly<Record<string, readonly UriPath[]>>;
    /** Which of them belong to the backend: those with the scheme of the extension, or all. */
    readonly renamed: 'scheme' | 'all';
    /** What of an entry is hidden from a client that may not read one of its URIs. */
    readonly hidden: 'link' | 'entry';
  };
}

const ui = 'io.modelcontextprotocol/ui';
const skills = 'io.modelcontextprotocol/skills';

/** The last two are older spellings that servers still use, alone or beside the first. */
const appLinks: readonly UriPath[] = [
  ['_meta', 'ui', 'resourceUri'],
  ['_meta', 'ui/resourceUri'],
  ['_meta', 'openai/outputTemplate'],
];

const tasks = 'io.modelcontextprotocol/tasks';

/** What the methods of skills have in common. */
const ofSkills = { kind: 'request', from: 'client', since: '2025-11-25', extension: skills } as const;
const cached = { replayable: true, cacheable: true } as const;

/** What the requests about tasks have in common. */
const ofTasks = {
  kind: 'request',
  capability: 'tasks',
  extension: tasks,
  name: 'taskId',
  mirrored: true,
  action: 'task',
  replayable: true,
} as const;

const rows: readonly ExtensionRow[] = [
  {
    // https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
    id: ui,
    since: '2024-11-05',
    listSettings: { mimeTypes: ['text/html;profile=mcp-app'] },
    scheme: 'ui',
    uris: { entries: { tools: appLinks }, results: { 'tools/call': appLinks }, renamed: 'scheme', hidden: 'link' },
  },
  {
    // https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
    id: skills,
    since: '2025-11-25',
    methods: [
      { ...ofSkills, ...cached, method: 'skills/list', list: 'skills', action: 'list' },
      { ...ofSkills, ...cached, method: 'skills/get', name: 'uri', action: 'read' },
      {
        ...ofSkills,
        ...cached,
        method: 'resources/directory/read',
        setting: 'directoryRead',
        name: 'uri',
        entries: 'resources',
        action: 'read',
      },
    ],
    scheme: 'skill',
    uris: {
      entries: { skills: [['resources', '*', 'uri']] },
      results: {
        'skills/get': [
          ['skill', 'uri'],
          ['skill', 'resources', '*', 'uri'],
        ],
        'resources/directory/read': [['resources', '*', 'uri']],
      },
      renamed: 'all',
      hidden: 'entry',
    },
  },
  {
    // https://github.com/modelcontextprotocol/ext-tasks. In 2025-11-25 tasks are a capability, and another design.
    id: tasks,
    since: '2026-07-28',
    methods: [
      { ...ofTasks, method: 'tasks/get', from: 'either', since: '2025-11-25' },
      { ...ofTasks, method: 'tasks/cancel', from: 'either', since: '2025-11-25' },
      { ...ofTasks, method: 'tasks/update', from: 'client', since: '2026-07-28' },
    ],
    declaredByClients: true,
    // Earlier drafts gave the result of `tasks/get` the type that only the creation has now.
    resultTypes: { task: ['tools/call', 'tasks/get'] },
    filters: ['taskIds'],
  },
];

export const extensions: readonly ExtensionRow[] = rows;

const byId = new Map(rows.map((row) => [row.id, row]));

export function extensionRow(id: string): ExtensionRow | undefined {
  return byId.get(id);
}

/** The extension that gives results of this method this type. */
export function extensionOfResult(type: string, method: string): string | undefined {
  return rows.find(({ resultTypes }) => resultTypes?.[type]?.includes(method))?.id;
}

/** The extension that adds this member to the filter of `subscriptions/listen`. */
export function extensionOfFilter(member: string): string | undefined {
  return rows.find(({ filters }) => filters?.includes(member))?.id;
}

/** What the config says of extensions, by id: `pass` lets an unknown one pass as data, `deny` leaves one out. */
export type ExtensionChoices = Readonly<Record<string, ExtensionChoice>>;
export const extensionChoices = ['pass', 'deny'] as const;
export type ExtensionChoice = (typeof extensionChoices)[number];

/** Whether an endpoint carries the extension, in both directions. */
export function isCarried(id: string, revision: Revision, choices: ExtensionChoices | undefined): boolean {
  const choice = choices !== undefined && Object.hasOwn(choices, id) ? choices[id] : undefined;
  if (choice === 'deny') return false;
  return byId.has(id) ? isDefined(id, revision) : choice === 'pass';
}

/** Whether a hop of this revision can carry the extension. An extension without a row is data, and any hop can. */
export function isDefined(id: string, revision: Revision): boolean {
  const row = byId.get(id);
  return row === undefined || revision >= row.since;
}
