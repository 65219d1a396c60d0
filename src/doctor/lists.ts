/** The lists of a server: how they are read to their end, and what the schema requires of their entries. */
import { methods } from '../wire/methods.ts';
import { readLimits } from './peer/peer.ts';
import {
  type Bytes,
  codeOf,
  type JsonObject,
  objectIn,
  type PeerFault,
  type PeerReply,
  summary,
} from './peer/reply.ts';
import { schemaFault } from './schema.ts';
import type { Talk } from './talk.ts';

type ListedMember = 'tools' | 'prompts' | 'resources' | 'resourceTemplates';

export interface ServerList {
  readonly method: string;
  /** The member of the result. */
  readonly member: ListedMember;
  readonly capability: 'tools' | 'prompts' | 'resources';
  readonly words: string;
  /** Members that every entry has, as text. */
  readonly texts: readonly string[];
  /** Templates share a capability with resources: a server may have none. */
  readonly isOptional: boolean;
}

const entries: Readonly<Record<ListedMember, Pick<ServerList, 'capability' | 'words' | 'texts'>>> = {
  tools: { capability: 'tools', words: 'tools', texts: ['name'] },
  prompts: { capability: 'prompts', words: 'prompts', texts: ['name'] },
  resources: { capability: 'resources', words: 'resources', texts: ['uri', 'name'] },
  resourceTemplates: { capability: 'resources', words: 'resource templates', texts: ['uriTemplate', 'name'] },
};

/** Lists of the core: what extensions list is not examined. */
export const lists: readonly ServerList[] = methods.flatMap(({ method, list }) =>
  list === undefined || list === 'skills'
    ? []
    : [{ method, member: list, isOptional: list === 'resourceTemplates', ...entries[list] }],
);

interface ReadList {
  readonly entries: readonly JsonObject[];
  readonly pages: readonly PeerReply[];
  readonly fault: PeerFault | undefined;
  /** Of the last page. */
  readonly bytes: Bytes;
}

const METHOD_NOT_FOUND = -32601;

/** Follows `nextCursor` to the end. */
export async function readList(talk: Talk, kind: ServerList): Promise<ReadList> {
  const found: JsonObject[] = [];
  const pages: PeerReply[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const reply = await talk.request(kind.method, cursor === undefined ? {} : { cursor });
    pages.push(reply);
    const end = (fault?: PeerFault) => ({ entries: found, pages, fault, bytes: reply.bytes });
    const result = reply.answer?.result;
    if (result === undefined) {
      if (kind.isOptional && codeOf(reply) === METHOD_NOT_FOUND) return end();
      return end(reply.fault ?? refused(talk, kind, reply));
    }
    if (talk.era === 'modern' && result.resultType === undefined)
      return end({ finding: 'result_type_missing', detail: `of \`${kind.method}\`` });
    const page = result[kind.member];
    const objects = Array.isArray(page) ? page.map(objectIn).filter((entry) => entry !== undefined) : [];
    if (!Array.isArray(page) || objects.length < page.length)
      return end({ finding: 'list_malformed', detail: `\`${kind.member}\` is no list of objects` });
    found.push(...objects);
    const next = result.nextCursor;
    if (next === undefined || next === null) return end();
    if (typeof next !== 'string') return end({ finding: 'list_malformed', detail: '`nextCursor` is no text' });
    if (seen.has(next) || pages.length === readLimits.pages) {
      const detail = seen.has(next) ? 'a cursor came twice' : `there are more than ${readLimits.pages} pages`;
      return end({ finding: 'pagination_endless', detail: `${kind.method}: ${detail}` });
    }
    seen.add(next);
    cursor = next;
  }
}

function refused(talk: Talk, { method, capability }: ServerList, reply: PeerReply): PeerFault {
  const status = reply.http?.status;
  // The session was opened a moment ago.
  const isLost = talk.session !== undefined && (status === 404 || status === 400);
  if (isLost) return { finding: 'session_lost', detail: `${method}: ${summary(reply)}` };
  return { finding: 'list_refused', detail: `\`${capability}\` is declared, and ${method} gets ${summary(reply)}` };
}

/** The first entry that the schema does not allow, and why. */
export function listFault(kind: ServerList, found: readonly JsonObject[]): string | undefined {
  for (const [at, entry] of found.entries()) {
    const missing = kind.texts.find((name) => typeof entry[name] !== 'string');
    const name = JSON.stringify(entry.name ?? entry.uri ?? at);
    if (missing !== undefined) return `entry ${name} has no \`${missing}\``;
    if (kind.member !== 'tools') continue;
    const schema = objectIn(entry.inputSchema);
    if (schema === undefined) return `tool ${name} has no \`inputSchema\``;
    if (schema.type !== 'object') return `the \`inputSchema\` of tool ${name} is not of type "object"`;
  }
  return undefined;
}

/** The first tool whose schemas are no valid JSON Schema, and why. */
export function toolSchemaFault(tools: readonly JsonObject[]): string | undefined {
  for (const tool of tools) {
    for (const member of ['inputSchema', 'outputSchema']) {
      const fault = tool[member] === undefined ? undefined : schemaFault(tool[member]);
      if (fault !== undefined) return `\`${member}\` of tool ${JSON.stringify(tool.name)}: ${fault}`;
    }
  }
  return undefined;
}
