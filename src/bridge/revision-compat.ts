/**
 * Features that some revisions lack, and what clients of those get instead. One table for everything that serves an
 * older client: degrade.ts for results, legacy-responder.ts for errors, session/ for server requests and notifications,
 * pipeline/handshake.ts for capabilities.
 */
import { Failure } from '../errors/failure.ts';
import { has, methodRow, methods } from '../wire/methods.ts';
import type { Revision } from '../wire/revisions.ts';
import { isObject } from '../wire/values.ts';

type Value = Record<string, unknown>;

interface Row {
  /** For people: what it is. */
  readonly what: string;
  readonly since: Revision;
  /** For people: what a client of an older revision gets instead. */
  readonly instead: string;
}

/** A member: removed for older clients, after its substitute is made. */
export interface MemberRow extends Row {
  readonly kind: 'member';
  readonly of: ResultPart;
  readonly member: string;
}

/** The parts of results. */
export type ResultPart = 'tool' | 'prompt' | 'argument' | 'resource' | 'template' | 'server' | 'call';

/** A type of content. */
export interface ContentRow extends Row {
  readonly kind: 'content';
  readonly type: string;
  replace(content: Value): Value;
}

/** A server request, or a feature of one. */
export interface AskRow extends Row {
  readonly kind: 'ask';
  readonly method: string;
  applies(params: Value): boolean;
  /** The same server request without the feature. Absent where there is none: the server request is refused. */
  replace?(params: Value): Value;
}

type AskFeature = Pick<AskRow, 'applies' | 'replace'> & Partial<Pick<AskRow, 'instead'>>;

/** An error code with a meaning of its own. */
export interface ErrorRow extends Row {
  readonly kind: 'error';
  readonly code: number;
}

/** A client capability, or a member of one. */
export interface CapabilityRow extends Row {
  readonly kind: 'capability';
  readonly capability: 'elicitation' | 'sampling';
  readonly member?: string;
}

export type OlderRow = MemberRow | ContentRow | AskRow | ErrorRow | CapabilityRow;

const things: Readonly<Record<ResultPart, string>> = {
  tool: 'a tool',
  prompt: 'a prompt',
  argument: 'an argument of a prompt',
  resource: 'a resource',
  template: 'a resource template',
  server: 'a server',
  call: 'the result of a tool',
};

const omitted = 'It is left out.';
const named = 'It is left out; `name` remains.';
const asText = 'It is sent as text, if the result has no text of its own.';

const member = (of: ResultPart, name: string, since: Revision, instead: string): MemberRow => ({
  kind: 'member',
  what: `\`${name}\` of ${things[of]}`,
  of,
  member: name,
  since,
  instead,
});

/** The server request is refused, unless the row says what the client gets instead. */
const ask = (method: string) => (what: string, since: Revision, feature: AskFeature) => ({
  kind: 'ask' as const,
  what,
  method,
  since,
  instead: 'The server request fails with `revision_too_old`; the client does not get it.',
  ...feature,
});
const elicitation = ask('elicitation/create');
const sampling = ask('sampling/createMessage');

const capability = (name: CapabilityRow['capability'], since: Revision, sub?: string): CapabilityRow => ({
  kind: 'capability',
  what: `the capability \`${name}${sub === undefined ? '' : `.${sub}`}\` of a client`,
  capability: name,
  ...(sub === undefined ? {} : { member: sub }),
  since,
  instead: 'It is not declared to backends.',
});

export const olderRows: readonly OlderRow[] = [
  member('tool', 'annotations', '2025-03-26', omitted),
  member('tool', 'title', '2025-06-18', named),
  member('tool', 'outputSchema', '2025-06-18', 'It is left out; structured content is sent as text.'),
  member('tool', 'icons', '2025-11-25', omitted),
  member('prompt', 'title', '2025-06-18', named),
  member('prompt', 'icons', '2025-11-25', omitted),
  member('argument', 'title', '2025-06-18', named),
  member('resource', 'title', '2025-06-18', named),
  member('resource', 'icons', '2025-11-25', omitted),
  member('template', 'title', '2025-06-18', named),
  member('template', 'icons', '2025-11-25', omitted),
  member('server', 'title', '2025-06-18', named),
  member('server', 'icons', '2025-11-25', omitted),
  member('server', 'description', '2025-11-25', omitted),
  member('server', 'websiteUrl', '2025-11-25', omitted),
  member('call', 'structuredContent', '2025-06-18', asText),
  {
    kind: 'content',
    what: 'audio content',
    type: 'audio',
    since: '2025-03-26',
    instead: 'It is sent as an embedded resource with the same bytes and media type.',
    replace: ({ data, mimeType, annotations }) => ({
      type: 'resource',
      resource: { uri: 'bascule:audio', mimeType, blob: data },
      ...(annotations === undefined ? {} : { annotations }),
    }),
  },
  {
    kind: 'content',
    what: 'a resource link',
    type: 'resource_link',
    since: '2025-06-18',
    instead: 'It is sent as text: name, URI and description.',
    replace: ({ uri, name, title, description }) => ({
      type: 'text',
      text: [`${title ?? name}: ${uri}`, description].filter((line) => typeof line === 'string').join('\n'),
    }),
  },
  elicitation('elicitation', '2025-06-18', { applies: () => true }),
  elicitation('elicitation of a visit to a page (`mode: url`)', '2025-11-25', {
    applies: ({ mode }) => mode === 'url',
  }),
  elicitation('a form with a choice of several values', '2025-11-25', {
    applies: (params) => fieldsOf(params).some(({ field }) => field.type === 'array'),
  }),
  elicitation('a form with titled choices (`oneOf`)', '2025-11-25', {
    instead: 'The choices are sent as `enum` and `enumNames`.',
    applies: (params) => fieldsOf(params).some(({ field }) => Array.isArray(field.oneOf)),
    replace: withNamedChoices,
  }),
  elicitation('`mode` of a form', '2025-11-25', {
    instead: 'It is left out: an elicitation without `mode` is a form.',
    applies: ({ mode }) => mode === 'form',
    replace: ({ mode: _mode, ...rest }) => rest,
  }),
  sampling('sampling with tools', '2025-11-25', {
    applies: ({ tools, toolChoice }) => tools !== undefined || toolChoice !== undefined,
  }),
  sampling('several blocks of content in one message of a sampling request', '2025-11-25', {
    applies: (params) => contentsOf(params).some(Array.isArray),
  }),
  sampling('audio in a sampling request', '2025-03-26', {
    applies: (params) => contentsOf(params).some((content) => isObject(content) && content.type === 'audio'),
  }),
  {
    kind: 'error',
    what: 'the error -32042 (URL elicitation required)',
    code: -32042,
    since: '2025-11-25',
    instead: 'The request fails with `revision_too_old`.',
  },
  capability('elicitation', '2025-06-18'),
  capability('elicitation', '2025-11-25', 'form'),
  capability('elicitation', '2025-11-25', 'url'),
  capability('sampling', '2025-11-25', 'tools'),
  capability('sampling', '2025-11-25', 'context'),
];

const memberRows = olderRows.filter((row) => row.kind === 'member');
export const contentRows = olderRows.filter((row) => row.kind === 'content');
const askRows = olderRows.filter((row) => row.kind === 'ask');
const errorRows = olderRows.filter((row) => row.kind === 'error');
const capabilityRows = olderRows.filter((row) => row.kind === 'capability');

/** Where the parts are in the result of a method. */
export const lists: Readonly<Record<string, { readonly list: string; readonly thing: ResultPart }>> = {
  'tools/list': { list: 'tools', thing: 'tool' },
  'prompts/list': { list: 'prompts', thing: 'prompt' },
  'resources/list': { list: 'resources', thing: 'resource' },
  'resources/templates/list': { list: 'resourceTemplates', thing: 'template' },
};

/** Whether any row may concern the result of the method: only then is the result parsed. */
export function isOlder(revision: Revision, method: string): boolean {
  return revision < (newest.get(method) ?? '');
}

/** By method: since which revision its results have all that they can have. */
const newest = new Map(methods.map(({ method }) => [method, newestRowOf(method)]));

function newestRowOf(method: string): string {
  const contents = method === 'tools/call' || method === 'prompts/get' ? contentRows : [];
  const members = memberRows.filter(({ of }) => thingsOf(method).includes(of));
  return [...contents, ...members].reduce((latest, { since }) => (since > latest ? since : latest), '');
}

function thingsOf(method: string): readonly ResultPart[] {
  if (method === 'tools/call') return ['call'];
  const list = lists[method];
  if (list === undefined) return [];
  return list.thing === 'prompt' ? ['prompt', 'argument'] : [list.thing];
}

/** Members of a part that a revision does not know. */
export function unknownMembers(thing: ResultPart, revision: Revision): ReadonlySet<string> {
  return new Set(memberRows.filter(({ of, since }) => of === thing && revision < since).map((row) => row.member));
}

/** A server's `Implementation` in the form of the revision. */
export function degradeServer(info: Value, revision: Revision): Value {
  return without(info, unknownMembers('server', revision));
}

/**
 * A server request in the form of the revision: changed parameters, or a failure that says why it cannot be sent.
 * Undefined where it can stay as it is.
 */
export function olderAsk(revision: Revision, method: string, params: unknown): Value | Failure | undefined {
  const given: Value = isObject(params) ? params : {};
  let value = given;
  for (const row of askRows) {
    if (row.method !== method || revision >= row.since || !row.applies(value)) continue;
    if (row.replace === undefined) return tooOld(row, revision);
    value = row.replace(value);
  }
  return value === given ? undefined : value;
}

/** Why a client of that revision cannot get this error; undefined where it can. */
export function olderError(revision: Revision, code: number): Failure | undefined {
  const row = errorRows.find((one) => one.code === code && revision < one.since);
  return row && tooOld(row, revision);
}

/**
 * Capabilities that the revision has. Clients may declare newer ones, but could not be asked for them in this revision.
 */
export function olderCapabilities(revision: Revision, declared: unknown): unknown {
  const unknown = capabilityRows.filter(({ since }) => revision < since);
  if (!isObject(declared) || unknown.length === 0) return declared;
  return Object.fromEntries(
    Object.entries(declared).flatMap(([key, value]) => {
      const rows = unknown.filter((row) => row.capability === key);
      // Without `url` it would mean forms, which this client does not support.
      const pagesAlone = key === 'elicitation' && isObject(value) && 'url' in value && !('form' in value);
      if (rows.some((row) => row.member === undefined) || (rows.length > 0 && pagesAlone)) return [];
      return [[key, isObject(value) ? without(value, new Set(rows.map((row) => row.member))) : value]];
    }),
  );
}

function without(value: Value, keys: ReadonlySet<string | undefined>): Value {
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.has(key)));
}

/** Whether the revision has the notification. An unknown one passes: it is an extension between client and backend. */
export function knowsNotification(revision: Revision, method: string): boolean {
  const row = methodRow(method);
  return row === undefined || has(revision, row);
}

function tooOld({ what, since }: OlderRow, revision: Revision): Failure {
  const message = `The backend needs ${what}, which revisions before ${since} do not have; the client uses ${revision}`;
  return new Failure('revision_too_old', { message, data: { needs: what, since, revision } });
}

function fieldsOf({ requestedSchema }: Value): readonly { readonly name: string; readonly field: Value }[] {
  const properties = isObject(requestedSchema) ? requestedSchema.properties : undefined;
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([name, field]) => (isObject(field) ? [{ name, field }] : []));
}

function withNamedChoices(params: Value): Value {
  const changed = fieldsOf(params).flatMap(({ name, field: { oneOf, ...field } }) => {
    if (!Array.isArray(oneOf)) return [];
    const choices = oneOf.filter(isObject);
    const named = { enum: choices.map((choice) => choice.const), enumNames: choices.map(({ title }) => title) };
    return [{ [name]: { ...field, ...named } }];
  });
  const schema = params.requestedSchema as Value;
  const properties = Object.assign({}, schema.properties, ...changed) as Value;
  return { ...params, requestedSchema: { ...schema, properties } };
}

function contentsOf({ messages }: Value): readonly unknown[] {
  return Array.isArray(messages) ? messages.filter(isObject).map(({ content }) => content) : [];
}
