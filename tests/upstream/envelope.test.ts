import { describe, expect, test } from 'vitest';
import type { CallRequest } from '../../src/exchange/call.ts';
import { legacyRequest, modernRequest, ownMeta } from '../../src/upstream/envelope.ts';
import { callOf, client } from './support/calls.ts';

const version = '"io.modelcontextprotocol/protocolVersion":"2026-07-28"';
const capabilities = '"io.modelcontextprotocol/clientCapabilities":{}';
const bare = `${version},${capabilities}`;

interface Case {
  readonly name: string;
  readonly input: string;
  readonly more?: Partial<CallRequest>;
  readonly expect: string;
}

const modern: readonly Case[] = [
  {
    name: 'a request without params gets params for its _meta',
    input: '{"jsonrpc":"2.0","id":"x","method":"tools/list"}',
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{${bare}}}}`,
  },
  {
    name: 'a request without params and with white space is written anew',
    input: '{ "id" : "x" , "method":"tools/list", "jsonrpc":"2.0" }',
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{${bare}}}}`,
  },
  {
    name: 'empty params get _meta',
    input: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{${bare}}}}`,
  },
  {
    name: 'number spelling, order and unknown members of params survive',
    input:
      '{"id":1,"method":"tools/call","params":{"zz":null,"arguments":{"n":12345678901234567890,"f":1.0,"\\u0061":"é"},"name":"t"},"jsonrpc":"2.0","extra":[1]}',
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"zz":null,"arguments":{"n":12345678901234567890,"f":1.0,"\\u0061":"é"},"name":"t","_meta":{${bare}}}}`,
  },
  {
    name: 'members of one hop are rewritten, and the rest of _meta keeps its order',
    input:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"traceparent":"00-1","progressToken":0,"io.modelcontextprotocol/protocolVersion":"2026-07-28","com.example/x":{"a": 1},"io.modelcontextprotocol/clientInfo":{"name":"them"},"io.modelcontextprotocol/clientCapabilities":{"tasks":{}},"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/subscriptionId":3,"io.modelcontextprotocol/serverInfo":{},"io.modelcontextprotocol/other":1},"name":"t"}}',
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"traceparent":"00-1","com.example/x":{"a": 1},"io.modelcontextprotocol/other":1,${bare}},"name":"t"}}`,
  },
  {
    name: 'client info, capabilities, log level and progress token are those of this hop',
    input: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"theirs"}}}',
    more: {
      client: client(
        '2026-07-28',
        { roots: { listChanged: true }, tasks: {}, elicitation: {} },
        '{"name":"c","version":"1.0"}',
      ),
      progress: true,
      logLevel: 'warning',
    },
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{${version},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1.0"},"io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{}},"io.modelcontextprotocol/logLevel":"warning","progressToken":7}}}`,
  },
  {
    name: 'a _meta that is no object gives way',
    input: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":null,"name":"t"}}',
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{${bare}},"name":"t"}}`,
  },
  {
    name: 'without a round of the gateway, answers and state pass as the client sent them',
    input:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","inputResponses":{"a":{}},"requestState":"s"}}',
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","inputResponses":{"a":{}},"requestState":"s","_meta":{${bare}}}}`,
  },
  {
    name: 'a round of the gateway replaces answers in place and removes an absent state',
    input:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"inputResponses":{"a":{}},"requestState":"s","name":"t"}}',
    more: { round: { inputResponses: '{"b":{"x": 1}}', requestState: undefined } },
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"inputResponses":{"b":{"x": 1}},"name":"t","_meta":{${bare}}}}`,
  },
  {
    name: 'a round of the gateway adds missing members, and replaces _meta in place',
    input: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"k":1},"name":"t"}}',
    more: { round: { inputResponses: '{}', requestState: '"\\u0073"' } },
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"k":1,${bare}},"name":"t","inputResponses":{},"requestState":"\\u0073"}}`,
  },
  {
    name: 'a round of a request without params',
    input: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    more: { round: { inputResponses: undefined, requestState: '"s"' } },
    expect: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{${bare}},"requestState":"s"}}`,
  },
];

describe('a request to a modern backend', () => {
  test.each(modern)('$name', ({ input, more, expect: wanted }) => {
    expect(modernRequest(callOf(input, more), '7', '2026-07-28').toString()).toBe(wanted);
  });
});

const legacy: readonly Case[] = [
  {
    name: 'only the id changes',
    input: '{"jsonrpc":"2.0","id":"x","method":"tools/list"}',
    expect: '{"jsonrpc":"2.0","id":7,"method":"tools/list"}',
  },
  {
    name: 'no _meta is added if none is needed',
    input: '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"t","arguments":{"n":1e2}}}',
    expect: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":{"n":1e2}}}',
  },
  {
    name: 'a _meta of the client stays unchanged',
    input: '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"_meta": { "a" : 1 } ,"name":"t"}}',
    expect: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta": { "a" : 1 } ,"name":"t"}}',
  },
  {
    name: 'the progress token is the one of the gateway',
    input: '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":0,"a":1}}}',
    more: { progress: true },
    expect: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{"a":1,"progressToken":7}}}',
  },
  {
    name: 'an unwanted progress token is removed, and the rest of _meta stays',
    input: '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":{}}}}',
    expect: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{}}}',
  },
  {
    name: 'no modern envelope reaches a legacy backend',
    input: `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"t","requestState":"s","_meta":{${bare},"traceparent":"00"},"inputResponses":{}}}`,
    expect: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":{"traceparent":"00"}}}',
  },
  {
    name: 'answers and state go even where no _meta is needed',
    input: '{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"requestState":"s","name":"t"}}',
    expect: '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}',
  },
];

describe('a request to a legacy backend', () => {
  test.each(legacy)('$name', ({ input, more, expect: wanted }) => {
    expect(legacyRequest(callOf(input, more), '7').toString()).toBe(wanted);
  });
});

test('a request of the gateway itself declares no capabilities', () => {
  expect(JSON.parse(ownMeta('2026-07-28', '{"name":"bascule","version":"1"}').toString())).toEqual({
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bascule', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  });
});
