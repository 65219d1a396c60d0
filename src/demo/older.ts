/**
 * What older revisions don't know is taken out of what they get, or said in words that they do know.
 * The changelogs are the source: https://modelcontextprotocol.io/specification/2025-11-25/changelog and its predecessors.
 */
import { atLeast, type Revision } from '../wire/revisions.ts';
import { isObject, type JsonObject } from './message.ts';

/** The revision that brought a member; what is not named has always been there. */
type Arrivals = { readonly [member: string]: Revision };

const named: Arrivals = { title: '2025-06-18', icons: '2025-11-25' };
const contentTypes: Arrivals = { audio: '2025-03-26', resource_link: '2025-06-18' };

/** The members of a result that have members of their own, or whose items have. */
const inside: { readonly [member: string]: Arrivals } = {
  serverInfo: { ...named, description: '2025-11-25' },
  capabilities: { completions: '2025-03-26' },
  tools: { ...named, annotations: '2025-03-26', outputSchema: '2025-06-18' },
  prompts: named,
  resources: named,
  resourceTemplates: named,
};

function known(object: JsonObject, arrivals: Arrivals, revision: Revision): JsonObject {
  const isKnown = (member: string) => arrivals[member] === undefined || atLeast(revision, arrivals[member]);
  return Object.fromEntries(Object.entries(object).filter(([member]) => isKnown(member)));
}

function content(block: JsonObject, revision: Revision): JsonObject {
  const arrival = contentTypes[String(block.type)];
  if (arrival === undefined || atLeast(revision, arrival)) return block;
  const what = block.type === 'resource_link' ? `resource ${block.uri}` : `${block.type} (${block.mimeType})`;
  return { type: 'text', text: `[${what}: this protocol revision can't show it]` };
}

function member(name: string, value: unknown, revision: Revision): unknown {
  if (name === 'content' && Array.isArray(value)) return value.map((block: JsonObject) => content(block, revision));
  const arrivals = inside[name];
  if (arrivals === undefined) return value;
  if (isObject(value)) return known(value, arrivals, revision);
  return (value as readonly JsonObject[]).map((item) => known(item, arrivals, revision));
}

export function resultFor(revision: Revision, result: object): JsonObject {
  const members = Object.entries(known({ ...result }, { structuredContent: '2025-06-18' }, revision));
  return Object.fromEntries(members.map(([name, value]) => [name, member(name, value, revision)]));
}
