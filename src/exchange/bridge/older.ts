/**
 * What a revision does not know, and what it gets instead. One table; degrade.ts applies it to results.
 */
import type { Revision } from '../../wire/revisions.ts';

type Value = Record<string, unknown>;

/** A member that is younger than some revisions: left out for those, after its substitute was made. */
export interface MemberRow {
  readonly of: Thing;
  readonly member: string;
  readonly since: Revision;
  /** For people: what a client of an older revision gets instead. */
  readonly instead: string;
}

/** Things that results are made of. */
export type Thing = 'tool' | 'prompt' | 'argument' | 'resource' | 'template' | 'server' | 'call';

export const memberRows: readonly MemberRow[] = [
  { of: 'tool', member: 'annotations', since: '2025-03-26', instead: 'nothing: hints alone' },
  { of: 'tool', member: 'title', since: '2025-06-18', instead: 'the name' },
  { of: 'tool', member: 'outputSchema', since: '2025-06-18', instead: 'nothing: its results come as text' },
  { of: 'tool', member: 'icons', since: '2025-11-25', instead: 'nothing' },
  { of: 'prompt', member: 'title', since: '2025-06-18', instead: 'the name' },
  { of: 'prompt', member: 'icons', since: '2025-11-25', instead: 'nothing' },
  { of: 'argument', member: 'title', since: '2025-06-18', instead: 'the name' },
  { of: 'resource', member: 'title', since: '2025-06-18', instead: 'the name' },
  { of: 'resource', member: 'icons', since: '2025-11-25', instead: 'nothing' },
  { of: 'template', member: 'title', since: '2025-06-18', instead: 'the name' },
  { of: 'template', member: 'icons', since: '2025-11-25', instead: 'nothing' },
  { of: 'server', member: 'title', since: '2025-06-18', instead: 'the name' },
  { of: 'server', member: 'icons', since: '2025-11-25', instead: 'nothing' },
  { of: 'server', member: 'description', since: '2025-11-25', instead: 'nothing' },
  { of: 'server', member: 'websiteUrl', since: '2025-11-25', instead: 'nothing' },
  {
    of: 'call',
    member: 'structuredContent',
    since: '2025-06-18',
    instead: 'the same JSON as text, where there is no text',
  },
];

/** A kind of content that is younger than some revisions. */
export interface ContentRow {
  readonly type: string;
  readonly since: Revision;
  readonly instead: string;
  replace(content: Value): Value;
}

export const contentRows: readonly ContentRow[] = [
  {
    type: 'audio',
    since: '2025-03-26',
    instead: 'an embedded resource with the same bytes and media type',
    replace: ({ data, mimeType, annotations }) => ({
      type: 'resource',
      resource: { uri: 'bascule:audio', mimeType, blob: data },
      ...(annotations === undefined ? {} : { annotations }),
    }),
  },
  {
    type: 'resource_link',
    since: '2025-06-18',
    instead: 'a line of text with name, address and description',
    replace: ({ uri, name, title, description }) => ({
      type: 'text',
      text: [`${String(title ?? name)}: ${String(uri)}`, description]
        .filter((line) => typeof line === 'string')
        .join('\n'),
    }),
  },
];

/** Where the things are in the result of a method. */
export const lists: Readonly<Record<string, { readonly list: string; readonly thing: Thing }>> = {
  'tools/list': { list: 'tools', thing: 'tool' },
  'prompts/list': { list: 'prompts', thing: 'prompt' },
  'resources/list': { list: 'resources', thing: 'resource' },
  'resources/templates/list': { list: 'resourceTemplates', thing: 'template' },
};

/** Whether any row could concern the result of that method: only then is it read at all. */
export function isOlder(revision: Revision, method: string): boolean {
  const contents = method === 'tools/call' || method === 'prompts/get' ? contentRows : [];
  const members = memberRows.filter(({ of }) => thingsOf(method).includes(of));
  return [...contents, ...members].some(({ since }) => revision < since);
}

function thingsOf(method: string): readonly Thing[] {
  if (method === 'tools/call') return ['call'];
  const list = lists[method];
  if (list === undefined) return [];
  return list.thing === 'prompt' ? ['prompt', 'argument'] : [list.thing];
}

/** Members of a thing that a revision does not know. */
export function unknownMembers(thing: Thing, revision: Revision): ReadonlySet<string> {
  return new Set(memberRows.filter(({ of, since }) => of === thing && revision < since).map((row) => row.member));
}

/** What a server says of itself, as the revision knows it. */
export function degradeServer(info: Value, revision: Revision): Value {
  const unknown = unknownMembers('server', revision);
  return Object.fromEntries(Object.entries(info).filter(([key]) => !unknown.has(key)));
}
