/**
 * The short form of a tool in a list: its real name, what it is for in a sentence, and what clients need besides the
 * schema. The schema is open, since the arguments are checked against the real one (check.ts).
 */
import { paramHeaders } from '../wire/mirror.ts';
import { isObject } from '../wire/values.ts';

/** Marks a stub in the `_meta` of its entry. */
export const STUB = 'bascule/stub';

const SENTENCE = 160;
const TITLE = 80;
/** Of members that are passed on whole, such as links to apps. */
const MEMBER = 1_000;

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/**
 * Hosts show apps and run tasks by what the list says of a tool: without these members a stub would be another tool.
 * https://modelcontextprotocol.io/specification/2026-07-28/server/tools
 */
const metaOfHosts = ['ui', 'ui/resourceUri', 'openai/outputTemplate', 'openai/visibility'];

export function stubOf(entry: Record<string, unknown>): Record<string, unknown> {
  const { name, description, annotations, inputSchema, execution, _meta } = entry;
  const kept = Object.fromEntries(
    metaOfHosts.flatMap((key) => (isObject(_meta) && isSmall(_meta[key]) ? [[key, _meta[key]]] : [])),
  );
  const shortAnnotations = stubAnnotations(annotations);
  return {
    name,
    ...(typeof description === 'string' && { description: firstSentence(description) }),
    inputSchema: openSchema(inputSchema),
    ...(shortAnnotations !== undefined && { annotations: shortAnnotations }),
    ...(isSmall(execution) && { execution }),
    _meta: { ...kept, [STUB]: true },
  };
}

/** The first sentence, or as much of it as a list has room for. */
export function firstSentence(text: string): string {
  const line = text.slice(0, 4 * SENTENCE).trim();
  const sentence = /^.*?[.!?](?=\s|$)/s.exec(line)?.[0] ?? line.split('\n', 1)[0] ?? '';
  const flat = sentence.replaceAll(/\s+/g, ' ').trim();
  return flat.length <= SENTENCE ? flat : `${flat.slice(0, SENTENCE).replace(/[\ud800-\udbff]$/, '')}…`;
}

function stubAnnotations(annotations: unknown): Record<string, unknown> | undefined {
  if (!isObject(annotations)) return undefined;
  const { title } = annotations;
  const known = hints.flatMap((key) => (typeof annotations[key] === 'boolean' ? [[key, annotations[key]]] : []));
  const named = typeof title === 'string' && title.length <= TITLE ? [['title', title]] : [];
  return known.length + named.length === 0 ? undefined : Object.fromEntries([...named, ...known]);
}

/** Any arguments are valid. Clients mirror the properties that say so in headers, so these keep their places. */
function openSchema(inputSchema: unknown): Record<string, unknown> {
  const schema: Record<string, unknown> = { type: 'object' };
  const read = paramHeaders(inputSchema);
  if (!('headers' in read)) return schema;
  for (const { path, type } of read.headers) {
    let at = schema;
    let real = inputSchema;
    for (const key of path) {
      at.properties ??= Object.create(null);
      const properties = at.properties as Record<string, Record<string, unknown>>;
      properties[key] ??= { type: 'object' };
      at = properties[key];
      real = isObject(real) && isObject(real.properties) ? real.properties[key] : undefined;
    }
    at.type = type;
    if (isObject(real)) at['x-mcp-header'] = real['x-mcp-header'];
  }
  return schema;
}

function isSmall(value: unknown): boolean {
  return value !== undefined && JSON.stringify(value).length <= MEMBER;
}
