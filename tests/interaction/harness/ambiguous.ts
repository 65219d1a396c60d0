/** Calls that two readers of JSON take for two different ones. */
import { modernMeta } from './eras.ts';

/** The members of the `_meta` of a modern request. */
export const meta = JSON.stringify(modernMeta()).slice(1, -1);

export interface Places {
  readonly beside?: string;
  readonly inParams?: string;
  readonly inMeta?: string;
}

export function toolCall({ beside = '', inParams = '', inMeta = '' }: Places, args = '{}'): string {
  const params = `"name":"work","arguments":${args}${inParams},"_meta":{${meta}${inMeta}}`;
  return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{${params}}${beside}}`;
}

export const ambiguousCalls: readonly (Places & { readonly name: string; readonly word: string })[] = [
  { name: 'Method', word: 'method', beside: ',"Method":"tools/list"' },
  { name: 'METHOD', word: 'method', beside: ',"METHOD":"tools/list"' },
  { name: 'Params', word: 'params', beside: ',"Params":{"name":"other"}' },
  { name: 'param\u017f', word: 'params', beside: ',"param\u017f":{"name":"other"}' },
  { name: 'ID', word: 'id', beside: ',"ID":1' },
  { name: 'JsonRpc', word: 'jsonrpc', beside: ',"JsonRpc":"2.0"' },
  { name: 'Result', word: 'result', beside: ',"Result":{}' },
  { name: 'Error', word: 'error', beside: ',"Error":{}' },
  { name: 'Name', word: 'name', inParams: ',"Name":"other"' },
  { name: 'Name', word: 'name', inParams: ',"\\u004eame":"other"' },
  { name: 'URI', word: 'uri', inParams: ',"URI":"file:///x"' },
  { name: 'Arguments', word: 'arguments', inParams: ',"Arguments":{}' },
  { name: 'argument\u017f', word: 'arguments', inParams: ',"argument\\u017f":{}' },
  { name: 'tas\u212a', word: 'task', inParams: ',"tas\u212a":{}' },
  { name: '_Meta', word: '_meta', inParams: ',"_Meta":{}' },
  { name: 'Ref', word: 'ref', inParams: ',"Ref":{}' },
  { name: 'Cursor', word: 'cursor', inParams: ',"Cursor":"c"' },
  { name: 'Level', word: 'level', inParams: ',"Level":"debug"' },
  { name: 'requeststate', word: 'requestState', inParams: ',"requeststate":"s"' },
  { name: 'InputResponses', word: 'inputResponses', inParams: ',"InputResponses":{}' },
  { name: 'ProgressToken', word: 'progressToken', inMeta: ',"ProgressToken":1' },
  {
    name: 'io.modelcontextprotocol/ClientCapabilities',
    word: 'io.modelcontextprotocol/clientCapabilities',
    inMeta: ',"io.modelcontextprotocol/ClientCapabilities":{"sampling":{}}',
  },
];
