/**
 * What older revisions don't know is taken out of what they get, or said in words that they do know.
 * The changelogs are the source: https://modelcontextprotocol.io/specification/2025-11-25/changelog and its predecessors.
 */
import { atLeast, type Revision } from '../wire/revisions.ts';
import { isObject, type JsonObject } from './message.ts';

/** The revision that brought a member; what is not named has always been there. */
type Arrivals = { readonly [member: string]: Revision };

const named: Arrivals = { title: '2025-06-18', icons: '2025-11-25' };

const implementation: Arrivals = { ...named, description: '2025-11-25' };
const serverCapabilities: Arrivals = { completions: '2025-03-26' };

/** The lists in results, and what their items have. */
const items: { readonly [list: string]: Arrivals } = {
  tools: { ...named, annotations: '2025-03-26', outputSchema: '2025-06-18' },
  prompts: named,
  resources: named,
  resourceTemplates: named,
};

const toolResult: Arrivals = { structuredContent: '2025-06-18' };
const contentTypes: Arrivals = { audio: '2025-03-26', resource_link: '2025-06-18' };

function known(object: JsonObject, arrivals: Arrivals, revision: Revision): JsonObject {
  const members = Object.entries(object).filter(([member]) => {
    const arrival = arrivals[member];
    return arrival === undefined || atLeast(revision, arrival);
  });
  return Object.fromEntries(members);
}

function inWords(block: JsonObject): JsonObject {
  const what = block.type === 'resource_link' ? `resource ${block.uri}` : `${block.type} (${block.mimeType})`;
  return { type: 'text', text: `[${what}: this protocol revision can't show it]` };
}

function content(block: unknown, revision: Revision): unknown {
  if (!isObject(block)) return block;
  const arrival = contentTypes[String(block.type)];
  return arrival === undefined || atLeast(revision, arrival) ? block : inWords(block);
}

export interface Introduction {
  readonly serverInfo: JsonObject;
  readonly capabilities: JsonObject;
}

export function introductionFor(revision: Revision, { serverInfo, capabilities }: Introduction): Introduction {
  return {
    serverInfo: known(serverInfo, implementation, revision),
    capabilities: known(capabilities, serverCapabilities, revision),
  };
}

function member(name: string, value: unknown, revision: Revision): unknown {
  if (!Array.isArray(value)) return value;
  const arrivals = items[name];
  if (arrivals !== undefined) return value.map((item: JsonObject) => known(item, arrivals, revision));
  return name === 'content' ? value.map((block) => content(block, revision)) : value;
}

export function resultFor(revision: Revision, result: object): JsonObject {
  const members = Object.entries(known({ ...result }, toolResult, revision));
  return Object.fromEntries(members.map(([name, value]) => [name, member(name, value, revision)]));
}
