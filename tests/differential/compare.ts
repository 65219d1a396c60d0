/** Whether all readers understand a forwarded message alike, and as something that the policy lets through. */
import type { Forwarded } from './backends.ts';
import type { Facts, Reading } from './readers/facts.ts';
import { nameOf, parse } from './readers/tree.ts';
import { objection, type Stance } from './rules.ts';

const always = ['method', 'id', 'name', 'uri', 'refType', 'refName', 'refUri'] as const;

/** The arguments that a rule looks at, by the tool or method that it is about. */
const looked: Readonly<Record<string, readonly string[]>> = {
  act: ['force', 'path', 'amount'],
  cel: ['mode'],
  pay: ['amount'],
};

/** What is wrong, in one line each; empty where nothing is. */
export function differences(
  { backend, bytes, headers }: Forwarded,
  readings: readonly Reading[],
  stance: Stance,
): string[] {
  const found: string[] = [];
  // A reader that refuses the message does nothing with it.
  const reading = readings.filter(({ facts }) => facts.length > 0);
  const [first, ...others] = reading;
  if (first === undefined) return ['no reader understands it'];
  for (const { reader, facts } of reading) {
    for (const one of facts) {
      const why = objection(stance, one);
      if (why !== undefined) found.push(`${reader} reads ${why}`);
    }
  }
  for (const other of others) {
    for (const [at, one] of first.facts.entries())
      found.push(...unequal(first.reader, one, other.reader, other.facts[at]));
  }
  const mirrored = { method: headers['mcp-method'], name: headers['mcp-name'] };
  const [only] = first.facts;
  if (mirrored.method !== undefined && mirrored.method !== only?.method) found.push('Mcp-Method is not the method');
  if (typeof mirrored.name === 'string' && decoded(mirrored.name) !== (only?.uri ?? only?.name))
    found.push(`Mcp-Name is neither the name nor the URI: ${mirrored.name}`);
  if (backend !== 'service') found.push(...envelopeFaults(bytes.toString()));
  if (/[\r\n]/.test(bytes.toString()) && headers['content-type'] === undefined) found.push('a line break in a line');
  return found;
}

const TOP_LEVEL = new Set(['jsonrpc', 'id', 'method', 'params']);
/** 96 random bits. */
const UNGUESSABLE = /^"[A-Za-z0-9_-]{16,}"$/;

/** The gateway writes the top level of every MCP message itself. */
function envelopeFaults(text: string): string[] {
  const tree = parse(text);
  if (tree?.kind !== 'object') return ['not an object'];
  const extra = tree.members.filter(({ key }) => !TOP_LEVEL.has(nameOf(key) ?? ''));
  const id = tree.members.find(({ key }) => nameOf(key) === 'id')?.value;
  return [
    ...extra.map(({ key }) => `a member that is not of JSON-RPC: ${key}`),
    ...(id === undefined || (id.kind === 'leaf' && UNGUESSABLE.test(id.text)) ? [] : ['an id that can be guessed']),
  ];
}

function unequal(reader: string, one: Facts, otherReader: string, other: Facts | undefined): string[] {
  if (other === undefined) return [`${otherReader} reads fewer messages than ${reader}`];
  const watched = looked[(one.method === 'tools/call' ? one.name : one.method) ?? ''] ?? [];
  const pairs = [
    ...always.map((name) => ({ name, mine: one[name] ?? '', theirs: other[name] ?? '' })),
    // A null argument is an absent one.
    ...watched.map((name) => ({
      name: `argument ${name}`,
      mine: one.arguments[name] ?? 'null',
      theirs: other.arguments[name] ?? 'null',
    })),
  ];
  return pairs
    .filter(({ mine, theirs }) => mine !== theirs)
    .map(({ name, mine, theirs }) => `${name}: ${reader} reads ${mine}, ${otherReader} reads ${theirs}`);
}

function decoded(value: string): string {
  const base64 = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  return base64 === undefined ? value : Buffer.from(base64, 'base64').toString();
}
