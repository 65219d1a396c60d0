/**
 * What a revision does not know, and what it gets instead. One table, read by the code and printed into docs/bridging.md; a
 * result in which nothing has to change is passed on byte for byte.
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
const lists: Readonly<Record<string, { readonly list: string; readonly thing: Thing }>> = {
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

/** The result as the revision knows it, or undefined where it may stay as it is. */
export function degrade(method: string, result: Value, revision: Revision): Value | undefined {
  const list = lists[method];
  if (list !== undefined) return changedList(result, list, revision);
  if (method === 'tools/call') return degradeCall(result, revision);
  if (method === 'prompts/get')
    return changed(result, 'messages', (message) => changedOne(message, 'content', revision));
  return undefined;
}

/**
 * Legacy revisions know structured output as objects alone; the modern one has any value, and any schema for it. What is no
 * object becomes the member `result` of one, in the tool's schema and in its results alike.
 */
export function withObjectSchemas(result: Value): Value | undefined {
  return changed(result, 'tools', (tool) => {
    const schema = tool.outputSchema;
    if (!isObject(schema) || schema.type === 'object') return undefined;
    const { outputSchema: _outputSchema, ...rest } = tool;
    // A schema that names no type admits objects and others: which of its results are wrapped, it could not say.
    if (typeof schema.type !== 'string') return rest;
    return { ...tool, outputSchema: { type: 'object', properties: { result: schema }, required: ['result'] } };
  });
}

/** What a server says of itself, as the revision knows it. */
export function degradeServer(info: Value, revision: Revision): Value {
  return without('server', info, revision) ?? info;
}

function changedList(
  result: Value,
  { list, thing }: { list: string; thing: Thing },
  revision: Revision,
): Value | undefined {
  return changed(result, list, (entry) => {
    const kept = without(thing, entry, revision);
    if (thing !== 'prompt') return kept;
    return changed(kept ?? entry, 'arguments', (argument) => without('argument', argument, revision)) ?? kept;
  });
}

function degradeCall(result: Value, revision: Revision): Value | undefined {
  const content = changed(result, 'content', (block) => replaced(block, revision));
  const structured = without('call', content ?? result, revision);
  if (structured === undefined) return content;
  const blocks = Array.isArray(structured.content) ? (structured.content as unknown[]) : [];
  const told = blocks.some((block) => isObject(block) && block.type === 'text');
  const text = { type: 'text', text: JSON.stringify(result.structuredContent) };
  return told ? structured : { ...structured, content: [...blocks, text] };
}

function replaced(block: Value, revision: Revision): Value | undefined {
  return contentRows.find(({ type, since }) => block.type === type && revision < since)?.replace(block);
}

function changedOne(holder: Value, key: string, revision: Revision): Value | undefined {
  const block = holder[key];
  const instead = isObject(block) ? replaced(block, revision) : undefined;
  return instead && { ...holder, [key]: instead };
}

/** The object with some elements of one of its arrays changed; undefined where none was. */
function changed(holder: Value, key: string, change: (element: Value) => Value | undefined): Value | undefined {
  const elements = holder[key];
  if (!Array.isArray(elements)) return undefined;
  let any = false;
  const result = elements.map((element: unknown) => {
    const other = isObject(element) ? change(element) : undefined;
    any ||= other !== undefined;
    return other ?? element;
  });
  return any ? { ...holder, [key]: result } : undefined;
}

function without(thing: Thing, value: Value, revision: Revision): Value | undefined {
  const unknown = memberRows.filter(
    (row) => row.of === thing && revision < row.since && Object.hasOwn(value, row.member),
  );
  if (unknown.length === 0) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([key]) => !unknown.some(({ member }) => member === key)));
}

function isObject(value: unknown): value is Value {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
