import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Request } from '../../src/wire/message.ts';
import { methodRow } from '../../src/wire/methods.ts';
import {
  checkMirrored,
  checkParamHeaders,
  decodeHeaderValue,
  encodeHeaderValue,
  type MirroredHeaders,
  mirroredHeaders,
  type ParamHeader,
  paramHeaders,
  paramHeaderValues,
} from '../../src/wire/mirror.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { awkwardText, holds } from './property.ts';

function request(method: string, params: Record<string, unknown>, version: unknown = '2026-07-28'): Request {
  const _meta = { 'io.modelcontextprotocol/protocolVersion': version };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 'r', method, params: { ...params, _meta } });
  const message = readMessage(Buffer.from(text), { depth: 128 });
  if (message.kind !== 'request') throw new Error(message.kind);
  return message;
}

describe('a value in a header', () => {
  // The table of the specification: basic/transports/streamable-http#value-encoding.
  const cases: readonly { value: string; header: string }[] = [
    { value: 'us-west1', header: 'us-west1' },
    { value: 'Hello, 世界', header: '=?base64?SGVsbG8sIOS4lueVjA==?=' },
    { value: ' padded ', header: '=?base64?IHBhZGRlZCA=?=' },
    { value: 'line1\nline2', header: '=?base64?bGluZTEKbGluZTI=?=' },
    { value: '=?base64?literal?=', header: '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=' },
    { value: 'a b\tc', header: 'a b\tc' },
    { value: '', header: '=?base64??=' },
    { value: '\ufeffa', header: '=?base64?77u/YQ==?=' },
    { value: '=?BASE64?YQ==?=', header: '=?BASE64?YQ==?=' },
    { value: '=?base64?YQ==', header: '=?base64?YQ==' },
  ];
  test.each(cases)('$value is $header', ({ value, header }) => {
    expect(encodeHeaderValue(value)).toBe(header);
    expect(decodeHeaderValue(header)).toBe(value);
  });

  const malformed: readonly { name: string; header: string }[] = [
    { name: 'padding that is missing', header: '=?base64?SGVsbG8?=' },
    { name: 'padding that is too long', header: '=?base64?SGVsbG8===?=' },
    { name: 'characters outside the alphabet', header: '=?base64?SGVs!G8=?=' },
    { name: 'the alphabet for URLs', header: '=?base64?_-8=?=' },
    { name: 'white space inside', header: '=?base64?SGVs bG8=?=' },
    { name: 'bits that belong to no byte', header: '=?base64?YR==?=' },
    { name: 'no UTF-8', header: '=?base64?/w==?=' },
    { name: 'prefix and suffix in one', header: '=?base64?=' },
    { name: 'a control character', header: 'a\u0001b' },
    { name: 'a line break', header: 'a\nb' },
    { name: 'DEL', header: 'a\u007f' },
    { name: 'text beyond ASCII', header: 'é' },
  ];
  test.each(malformed)('is refused with $name', ({ header }) => {
    expect(decodeHeaderValue(header)).toBeUndefined();
  });

  test('is read without the white space around it', () => {
    expect(decodeHeaderValue('  a \t')).toBe('a');
    expect(decodeHeaderValue(' =?base64?YQ==?= ')).toBe('a');
    expect(decodeHeaderValue('')).toBe('');
  });

  test('comes back as it was, and is safe on the way', () => {
    holds(
      fc.property(
        fc.oneof(
          awkwardText,
          awkwardText.map((text) => `=?base64?${text}?=`),
        ),
        (value) => {
          const header = encodeHeaderValue(value);
          expect(header).toMatch(/^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/);
          expect(decodeHeaderValue(header)).toBe(value);
        },
      ),
      1500,
    );
  });
});

describe('mirrored headers', () => {
  const call = request('tools/call', { name: 'get_weather' });
  const odd = request('tools/call', { name: 'wetter für 世界' });
  const read = request('resources/read', { uri: 'file:///a' });
  const list = request('tools/list', {});
  const version = '2026-07-28';

  const cases: readonly { name: string; request: Request; headers: MirroredHeaders; header?: string }[] = [
    { name: 'agree', request: call, headers: { version, method: 'tools/call', name: 'get_weather' } },
    {
      name: 'agree after decoding',
      request: odd,
      headers: { version, method: 'tools/call', name: encodeHeaderValue('wetter für 世界') },
    },
    {
      name: 'agree where encoding was not needed',
      request: call,
      headers: { version, method: 'tools/call', name: '=?base64?Z2V0X3dlYXRoZXI=?=' },
    },
    { name: 'agree on a URI', request: read, headers: { version, method: 'resources/read', name: 'file:///a' } },
    { name: 'need no name for a list', request: list, headers: { version, method: 'tools/list' } },
    { name: 'may name anything for a list', request: list, headers: { version, method: 'tools/list', name: 'x' } },
    {
      name: 'lack the version',
      request: list,
      headers: { method: 'tools/list' },
      header: 'MCP-Protocol-Version',
    },
    {
      name: 'have another version',
      request: list,
      headers: { version: '2025-11-25', method: 'tools/list' },
      header: 'MCP-Protocol-Version',
    },
    {
      name: 'disagree on an unknown version',
      request: request('tools/list', {}, '2099-01-01'),
      headers: { version, method: 'tools/list' },
      header: 'MCP-Protocol-Version',
    },
    {
      name: 'agree on an unknown version',
      request: request('tools/list', {}, '2099-01-01'),
      headers: { version: '2099-01-01', method: 'tools/list' },
    },
    {
      name: 'ignore a version that is no string',
      request: request('tools/list', {}, 5),
      headers: { version, method: 'tools/list' },
    },
    { name: 'lack the method', request: list, headers: { version }, header: 'Mcp-Method' },
    {
      name: 'have the method in other letters',
      request: list,
      headers: { version, method: 'TOOLS/LIST' },
      header: 'Mcp-Method',
    },
    {
      name: 'have the method encoded, which it may not be',
      request: list,
      headers: { version, method: '=?base64?dG9vbHMvbGlzdA==?=' },
      header: 'Mcp-Method',
    },
    { name: 'lack the name', request: call, headers: { version, method: 'tools/call' }, header: 'Mcp-Name' },
    {
      name: 'have another name',
      request: call,
      headers: { version, method: 'tools/call', name: 'other' },
      header: 'Mcp-Name',
    },
    {
      name: 'have a malformed name',
      request: call,
      headers: { version, method: 'tools/call', name: '=?base64?Z2V0?!?=' },
      header: 'Mcp-Name',
    },
    {
      name: 'have a name that the body lacks',
      request: request('tools/call', {}),
      headers: { version, method: 'tools/call', name: 'x' },
      header: 'Mcp-Name',
    },
  ];
  test.each(cases)('$name', ({ request: asked, headers, header }) => {
    const failure = checkMirrored(asked, methodRow(asked.method), headers);
    if (header === undefined) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject({ reason: 'header_mismatch', id: '"r"', data: { header } });
  });

  test('of the gateway agree with its body', () => {
    holds(
      fc.property(awkwardText, (name) => {
        const asked = request('prompts/get', { name });
        const headers = mirroredHeaders('prompts/get', name, version);
        const failure = checkMirrored(asked, methodRow('prompts/get'), {
          version: headers['mcp-protocol-version'],
          method: headers['mcp-method'],
          name: headers['mcp-name'],
        });
        expect(failure).toBeUndefined();
      }),
    );
    expect(mirroredHeaders('tools/list', undefined, version)).toEqual({
      'mcp-protocol-version': version,
      'mcp-method': 'tools/list',
    });
  });

  test('are not made of a method that no header can carry', () => {
    for (const method of ['a\r\nx: y', 'é', ' a', '=?base64?x?=']) {
      expect(() => mirroredHeaders(method, undefined, version)).toThrow(
        expect.objectContaining({ reason: 'invalid_request' }),
      );
    }
  });
});

describe('the x-mcp-header annotations of a schema', () => {
  const region = { type: 'string', 'x-mcp-header': 'Region' };
  const tool = (properties: unknown, rest: Record<string, unknown> = {}): unknown => ({
    type: 'object',
    properties,
    ...rest,
  });

  const valid: readonly { name: string; schema: unknown; expect: ParamHeader[] }[] = [
    { name: 'none', schema: tool({ a: { type: 'string' } }), expect: [] },
    { name: 'no schema at all', schema: undefined, expect: [] },
    {
      name: 'each type that may have one',
      schema: tool({
        a: region,
        b: { type: 'integer', 'x-mcp-header': 'N' },
        c: { type: 'boolean', 'x-mcp-header': 'c!' },
      }),
      expect: [
        { header: 'mcp-param-region', path: ['a'], type: 'string' },
        { header: 'mcp-param-n', path: ['b'], type: 'integer' },
        { header: 'mcp-param-c!', path: ['c'], type: 'boolean' },
      ],
    },
    {
      name: 'one in nested properties',
      schema: tool({ a: tool({ b: tool({ properties: region }) }) }),
      expect: [{ header: 'mcp-param-region', path: ['a', 'b', 'properties'], type: 'string' }],
    },
    {
      name: 'a property named x-mcp-header, which is no annotation',
      schema: tool({ 'x-mcp-header': { type: 'string' } }),
      expect: [],
    },
    {
      name: 'data that looks like one',
      schema: tool({
        a: { type: 'object', default: { 'x-mcp-header': 1 }, enum: [region], examples: [region], const: region },
      }),
      expect: [],
    },
  ];
  test.each(valid)('$name', ({ schema, expect: expected }) => {
    expect(paramHeaders(schema)).toEqual({ headers: expected });
  });

  const invalid: readonly { name: string; schema: unknown }[] = [
    { name: 'an empty name', schema: tool({ a: { type: 'string', 'x-mcp-header': '' } }) },
    { name: 'a name with a space', schema: tool({ a: { type: 'string', 'x-mcp-header': 'a b' } }) },
    { name: 'a name with a colon', schema: tool({ a: { type: 'string', 'x-mcp-header': 'a:b' } }) },
    { name: 'a name with a line break', schema: tool({ a: { type: 'string', 'x-mcp-header': 'a\r\nb' } }) },
    { name: 'a line break at the end', schema: tool({ a: { type: 'string', 'x-mcp-header': 'a\n' } }) },
    { name: 'a name beyond ASCII', schema: tool({ a: { type: 'string', 'x-mcp-header': 'é' } }) },
    { name: 'a name that is no string', schema: tool({ a: { type: 'string', 'x-mcp-header': true } }) },
    {
      name: 'the same name in other letters',
      schema: tool({ a: region, b: { type: 'string', 'x-mcp-header': 'REGION' } }),
    },
    { name: 'the same name elsewhere in the tree', schema: tool({ a: region, b: tool({ c: region }) }) },
    { name: 'a number', schema: tool({ a: { type: 'number', 'x-mcp-header': 'a' } }) },
    { name: 'an object', schema: tool({ a: { type: 'object', 'x-mcp-header': 'a' } }) },
    { name: 'an array', schema: tool({ a: { type: 'array', 'x-mcp-header': 'a' } }) },
    { name: 'several types', schema: tool({ a: { type: ['string', 'null'], 'x-mcp-header': 'a' } }) },
    { name: 'no type', schema: tool({ a: { 'x-mcp-header': 'a' } }) },
    { name: 'the root', schema: { ...region } },
    { name: 'items', schema: tool({ a: { type: 'array', items: region } }) },
    { name: 'items of objects', schema: tool({ a: { type: 'array', items: tool({ b: region }) } }) },
    { name: 'a list of items', schema: tool({ a: { type: 'array', items: [region] } }) },
    { name: 'prefixItems', schema: tool({ a: { type: 'array', prefixItems: [region] } }) },
    { name: 'additionalProperties', schema: tool({}, { additionalProperties: region }) },
    { name: 'patternProperties', schema: tool({}, { patternProperties: { '.': region } }) },
    { name: 'oneOf', schema: tool({ a: { oneOf: [region] } }) },
    { name: 'anyOf at the root', schema: tool({}, { anyOf: [tool({ a: region })] }) },
    { name: 'allOf', schema: tool({}, { allOf: [tool({ a: region })] }) },
    { name: 'not', schema: tool({ a: { not: region } }) },
    { name: 'if, then and else', schema: tool({}, { if: tool({}), else: tool({ a: region }) }) },
    { name: 'definitions', schema: tool({ a: { $ref: '#/$defs/r' } }, { $defs: { r: region } }) },
    { name: 'dependentSchemas', schema: tool({}, { dependentSchemas: { a: tool({ b: region }) } }) },
  ];
  test.each(invalid)('make the tool invalid: $name', ({ schema }) => {
    expect(paramHeaders(schema)).toEqual({ invalid: expect.stringContaining('x-mcp-header') });
  });
});

describe('headers of parameters', () => {
  const spec: ParamHeader[] = [
    { header: 'mcp-param-region', path: ['where', 'region'], type: 'string' },
    { header: 'mcp-param-count', path: ['count'], type: 'integer' },
    { header: 'mcp-param-dry', path: ['dry'], type: 'boolean' },
  ];

  const cases: readonly { name: string; args: unknown; headers: Record<string, string>; at?: string }[] = [
    {
      name: 'agree',
      args: { where: { region: 'eu' }, count: 42, dry: false },
      headers: { 'mcp-param-region': 'eu', 'mcp-param-count': '42', 'mcp-param-dry': 'false' },
    },
    { name: 'are absent with their parameters', args: { where: {} }, headers: {} },
    { name: 'are absent where there are no arguments', args: undefined, headers: {} },
    { name: 'are absent where parameters are null', args: { where: { region: null }, count: null }, headers: {} },
    { name: 'do not mind others', args: {}, headers: { 'mcp-param-other': '\u0001' } },
    {
      name: 'agree after decoding',
      args: { where: { region: '世界' } },
      headers: { 'mcp-param-region': '=?base64?5LiW55WM?=' },
    },
    { name: 'agree on integers as numbers', args: { count: 42 }, headers: { 'mcp-param-count': '42.0' } },
    { name: 'agree on negative integers', args: { count: -7 }, headers: { 'mcp-param-count': '-7' } },
    {
      name: 'ignore values without a text form',
      args: { where: { region: ['a'] }, count: 2 ** 60 },
      headers: {},
    },
    { name: 'are missing', args: { count: 1 }, headers: {}, at: 'mcp-param-count' },
    { name: 'are absent for zero, false and nothing', args: { dry: false }, headers: {}, at: 'mcp-param-dry' },
    { name: 'are there without a parameter', args: {}, headers: { 'mcp-param-dry': 'true' }, at: 'mcp-param-dry' },
    { name: 'are there for null', args: { dry: null }, headers: { 'mcp-param-dry': 'null' }, at: 'mcp-param-dry' },
    {
      name: 'differ',
      args: { where: { region: 'eu' } },
      headers: { 'mcp-param-region': 'EU' },
      at: 'mcp-param-region',
    },
    { name: 'differ as numbers', args: { count: 42 }, headers: { 'mcp-param-count': '42.5' }, at: 'mcp-param-count' },
    {
      name: 'have a number in another base',
      args: { count: 16 },
      headers: { 'mcp-param-count': '0x10' },
      at: 'mcp-param-count',
    },
    {
      name: 'are malformed',
      args: { where: { region: 'a' } },
      headers: { 'mcp-param-region': '=?base64?YQ?=' },
      at: 'mcp-param-region',
    },
    {
      name: 'do not see inherited members',
      args: { where: 'x' },
      headers: { 'mcp-param-region': 'x' },
      at: 'mcp-param-region',
    },
  ];
  test.each(cases)('$name', ({ args, headers, at }) => {
    const failure = checkParamHeaders(spec, args, (name) => headers[name]);
    if (at === undefined) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject({ reason: 'header_mismatch', data: { header: at } });
  });

  test('of the gateway agree with its body', () => {
    const args = fc.record(
      {
        where: fc.record({ region: fc.option(awkwardText) }, { requiredKeys: [] }),
        count: fc.option(fc.maxSafeInteger()),
        dry: fc.option(fc.boolean()),
      },
      { requiredKeys: [] },
    );
    holds(
      fc.property(args, (value) => {
        const headers = paramHeaderValues(spec, value);
        expect(checkParamHeaders(spec, value, (name) => headers[name])).toBeUndefined();
      }),
    );
  });

  test('never leave the arguments themselves', () => {
    const strange: ParamHeader[] = [{ header: 'mcp-param-x', path: ['constructor', 'name'], type: 'string' }];
    expect(paramHeaderValues(strange, {})).toEqual({});
  });
});
