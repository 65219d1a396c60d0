/** Readers of JSON that a server written in JavaScript, or in a language with other habits, could be built on. */
import { type Facts, type ParsedUri, type Reading, watchedArguments } from './facts.ts';
import { type Member, type Node, nameOf, parse } from './tree.ts';

/** Chooses among the members that could be meant by a name. */
type Lookup = (members: readonly Member[], name: string) => Node | undefined;

const exact = (members: readonly Member[], name: string) => members.filter(({ key }) => nameOf(key) === name);
const folded = (members: readonly Member[], name: string) =>
  members.filter(({ key }) => fold(nameOf(key) ?? '') === fold(name));

const lookups: Readonly<Record<string, Lookup>> = {
  'first wins': (members, name) => exact(members, name)[0]?.value,
  'last wins': (members, name) => exact(members, name).at(-1)?.value,
  'case folding, first wins': (members, name) => folded(members, name)[0]?.value,
  'case folding, last wins': (members, name) => folded(members, name).at(-1)?.value,
};

/** Simple case folding, as far as letters go that fold to ASCII: U+017F and U+212A among them. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase().replaceAll('\u017f', 's').replaceAll('\u212a', 'k');
}

export function readInJavaScript(text: string): Reading[] {
  const tree = parse(text.replace(/^\ufeff/, ''));
  const byTree = Object.entries(lookups).map(([reader, lookup]) => ({
    reader,
    facts: tree === undefined ? [] : each(tree).map((message) => factsOf(message, lookup)),
  }));
  return [{ reader: 'JSON.parse', facts: builtIn(text) }, ...byTree];
}

function builtIn(text: string): Facts[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  const normal = parse(JSON.stringify(value));
  const last: Lookup = (members, name) => exact(members, name).at(-1)?.value;
  return normal === undefined ? [] : each(normal).map((message) => factsOf(message, last));
}

function each(tree: Node): readonly Node[] {
  return tree.kind === 'array' ? tree.items : [tree];
}

function factsOf(message: Node, lookup: Lookup): Facts {
  const inside = (node: Node | undefined, name: string) =>
    node?.kind === 'object' ? lookup(node.members, name) : undefined;
  const method = textOf(inside(message, 'method'));
  const params = inside(message, 'params');
  const uri = textOf(inside(params, 'uri'));
  const ref = inside(params, 'ref');
  const id = inside(message, 'id');
  const parsedUri = uri === undefined ? undefined : whatwg(uri);
  // A JSON-RPC service has its arguments in `params` itself.
  const holder = inside(params, 'arguments') ?? (isMcp(method) ? undefined : params);
  return defined({
    method,
    id: id === undefined ? undefined : normalText(id),
    name: textOf(inside(params, 'name')),
    uri,
    refType: textOf(inside(ref, 'type')),
    refName: textOf(inside(ref, 'name')),
    refUri: textOf(inside(ref, 'uri')),
    parsedUri,
    arguments: Object.fromEntries(
      watchedArguments.flatMap((name) => {
        const value = inside(holder, name);
        return value === undefined ? [] : [[name, normalText(value)]];
      }),
    ),
  });
}

export function isMcp(method: string | undefined): boolean {
  return method?.includes('/') === true;
}

function defined(facts: { readonly [K in keyof Facts]: Facts[K] | undefined }): Facts {
  const entries = Object.entries(facts).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as unknown as Facts;
}

function textOf(node: Node | undefined): string | undefined {
  return node?.kind === 'leaf' && node.text.startsWith('"') ? nameOf(node.text) : undefined;
}

/** Numbers as doubles, so that two spellings of one number are equal; texts by what they mean. */
function normalText(node: Node): string {
  if (node.kind === 'array') return `[${node.items.map(normalText).join(',')}]`;
  if (node.kind === 'object')
    return `{${node.members.map(({ key, value }) => `${stringText(nameOf(key) ?? '')}:${normalText(value)}`).join(',')}}`;
  if (node.text.startsWith('"')) return stringText(nameOf(node.text) ?? '');
  return /^[-\d]/.test(node.text) ? numberText(Number(node.text)) : node.text;
}

/** The bits of the double: every language writes them alike. */
export function numberText(number: number): string {
  if (!Number.isFinite(number)) return number > 0 ? 'Infinity' : '-Infinity';
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(number + 0);
  return `#${bytes.readBigUInt64BE().toString(16)}`;
}

/** The bytes of the text, since every language has its own escapes. */
export function stringText(text: string): string {
  return `$${Buffer.from(text).toString('hex')}`;
}

function whatwg(text: string): ParsedUri | undefined {
  const url = parseUrl(text);
  if (url === undefined) return undefined;
  return { scheme: url.protocol.replace(/:$/, ''), host: url.hostname, port: url.port, path: decoded(url.pathname) };
}

/** Node 20 has no `URL.parse`. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
