/** Messages of one seed: an operation, in the envelope of a client's era, with up to three tricks. */
import type { Chance } from '../interaction/faults/chance.ts';
import { mcpOperation, type Operation, rpcOperation } from './operations.ts';
import { parse, treeOf, write } from './readers/tree.ts';
import { tricks } from './tricks.ts';
import { respell, uriTricks } from './uris.ts';

/** How a message comes in: it decides the envelope. */
export type Envelope = 'modern' | 'legacy' | 'batch' | 'rpc' | 'rpc batch';

export interface Sample {
  readonly tricks: readonly string[];
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'differential', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** `prefix` is what a merged endpoint puts before the names of a backend. */
export function sample(chance: Chance, envelope: Envelope, prefix = ''): Sample {
  const used: string[] = [];
  const isRpc = envelope === 'rpc' || envelope === 'rpc batch';
  const wanted = prefixed(isRpc ? rpcOperation(chance) : mcpOperation(chance), prefix);
  const { operation, trick } = respelled(chance, wanted);
  if (trick !== undefined) used.push(trick);
  const isBatch = envelope === 'batch' || envelope === 'rpc batch';
  const message = messageOf(chance, operation, envelope);
  const other = messageOf(chance, prefixed(isRpc ? rpcOperation(chance) : mcpOperation(chance), prefix), envelope);
  const tree = treeOf(isBatch ? [message, other] : message);
  let text = '';
  const chosen = chance.once(3) ? [] : Array.from({ length: 1 + chance.below(2) }, () => chance.pick(tricks));
  for (const { name, onTree } of chosen) {
    used.push(name);
    onTree?.(chance, tree);
  }
  text = write(tree);
  for (const { onText } of chosen) text = onText?.(chance, text) ?? text;
  return { tricks: used.length === 0 ? ['plain'] : used, text, headers: headersOf(chance, operation, text, envelope) };
}

function messageOf(chance: Chance, { method, params }: Operation, envelope: Envelope): object {
  const id = chance.once(10) ? chance.pick([0, -1, 'x', '0', 'a b', 9007199254740991]) : chance.below(1e9);
  return { jsonrpc: '2.0', id, method, params: envelope === 'modern' ? { ...params, _meta: META } : params };
}

function prefixed(operation: Operation, prefix: string): Operation {
  const { name } = operation.params;
  if (prefix === '' || typeof name !== 'string') return operation;
  return { ...operation, params: { ...operation.params, name: `${prefix}${name}` } };
}

interface Respelled {
  readonly operation: Operation;
  readonly trick?: string;
}

function respelled(chance: Chance, operation: Operation): Respelled {
  const { uri } = operation.params;
  if (typeof uri !== 'string' || chance.once(4)) return { operation };
  const trick = chance.pick(uriTricks);
  const spelled = respell(uri, trick, chance);
  return { operation: { ...operation, params: { ...operation.params, uri: spelled } }, trick: `URI: ${trick}` };
}

/** Headers of what one reader takes the body for: a client that lies has to choose. */
function headersOf(chance: Chance, operation: Operation, text: string, envelope: Envelope): Record<string, string> {
  if (envelope !== 'modern') return {};
  const { method, named } = operation;
  const tree = chance.once(2) ? undefined : parse(text);
  const name = named === undefined ? undefined : (nameIn(tree, named) ?? operation.params[named]);
  return {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': headerValue(name) } : {}),
  };
}

/** The last member of that name in `params`, where the text can be read. */
function nameIn(tree: ReturnType<typeof parse>, named: string): string | undefined {
  if (tree?.kind !== 'object') return undefined;
  try {
    const message = JSON.parse(write(tree)) as { readonly params?: Readonly<Record<string, unknown>> };
    const value = message.params?.[named];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** 2026-07-28, basic/transports/streamable-http, "Value Encoding". */
function headerValue(value: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
