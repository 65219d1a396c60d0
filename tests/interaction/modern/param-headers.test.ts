/**
 * Arguments of a tool that travel in a header of their own.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-behavior-for-custom-headers
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { expectRefused, text } from '../harness/behind.ts';
import { type Call, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import {
  launchBehind,
  malformed,
  mismatch,
  missing,
  otherThanBody,
  type Shared,
  sentinel,
  withHeaders,
} from './setup.ts';

const annotated = (type: string, header: string) => ({ type, 'x-mcp-header': header });
const tools = [
  {
    name: 'routed',
    inputSchema: {
      type: 'object',
      properties: {
        region: annotated('string', 'Region'),
        shard: annotated('integer', 'Shard'),
        dry: annotated('boolean', 'Dry-Run'),
        at: { type: 'object', properties: { zone: annotated('string', 'Zone') } },
        query: { type: 'string' },
      },
    },
  },
  { name: 'free', inputSchema: { type: 'object' } },
];

let shared: Shared;
beforeAll(async () => {
  shared = await launchBehind({
    'tools/list': (turn) => turn.result({ resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' }),
    'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }),
  });
});
afterAll(() => shared.close());

interface Case {
  readonly name: string;
  /** Raw JSON, because the spelling of numbers matters. */
  readonly args: string;
  readonly headers: Readonly<Record<string, string>>;
}

function call({ args, headers }: Omit<Case, 'name'>, tool = 'routed'): Call {
  const { body, ...rest } = modern({ id: 0, method: 'tools/call', params: { name: tool, arguments: '@' } });
  return withHeaders({ ...rest, body: JSON.stringify(body).replace('"@"', args) }, headers);
}

/** The gateway may look at the tools for it, but the call does not go on. */
async function expectMismatch(one: Case, header: string, what: string): Promise<void> {
  shared.backend.forget();
  expectRefused(await send(shared.url, call(one)), 400, mismatch(header, what, 0));
  expect(shared.backend.received.filter(({ message }) => message.method !== 'tools/list')).toEqual([]);
}

async function expectPassed(one: Call, headers: Readonly<Record<string, string>>): Promise<void> {
  shared.backend.forget();
  const answer = await send(shared.url, one);
  expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 0, result: { resultType: 'complete', ...text('done') } });
  const [received] = shared.backend.of('tools/call');
  const arrived = Object.entries(received?.headers ?? {}).filter(([name]) => name.startsWith('mcp-param-'));
  expect(Object.fromEntries(arrived)).toEqual(headers);
}

describe('an argument that comes without its header', verifies('gateway:modern:param-missing'), () => {
  const cases: readonly (Case & { header: string })[] = [
    { name: 'a string', args: '{"region":"eu"}', headers: {}, header: 'mcp-param-region' },
    { name: 'an empty string', args: '{"region":""}', headers: {}, header: 'mcp-param-region' },
    { name: 'the number 0', args: '{"shard":0}', headers: {}, header: 'mcp-param-shard' },
    { name: 'false', args: '{"dry":false}', headers: {}, header: 'mcp-param-dry-run' },
    { name: 'one inside an object', args: '{"at":{"zone":"b"}}', headers: {}, header: 'mcp-param-zone' },
    {
      name: 'the second of two',
      args: '{"region":"eu","shard":1}',
      headers: { 'mcp-param-region': 'eu' },
      header: 'mcp-param-shard',
    },
  ];
  for (const one of cases) it(one.name, () => expectMismatch(one, one.header, missing));
});

describe('a header that comes without its argument', verifies('gateway:modern:param-unbacked'), () => {
  const header = { 'mcp-param-zone': 'b' };
  const cases: readonly Case[] = [
    { name: 'no arguments', args: '{}', headers: header },
    { name: 'null', args: '{"at":{"zone":null}}', headers: header },
    { name: 'an argument of that name in another place', args: '{"zone":"b"}', headers: header },
    { name: 'something else where the object should be', args: '{"at":"b"}', headers: header },
  ];
  for (const one of cases) it(one.name, () => expectMismatch(one, 'mcp-param-zone', 'has no parameter in the body'));

  it('is not missed where the argument is null', () =>
    expectPassed(call({ args: '{"region":null,"query":"q"}', headers: {} }), {}));
});

describe('a header with another value than its argument', verifies('gateway:modern:param-differs'), () => {
  const cases: readonly (Case & { header: string })[] = [
    { name: 'a string', args: '{"region":"eu"}', headers: { 'mcp-param-region': 'us' }, header: 'mcp-param-region' },
    {
      name: 'a string in capitals',
      args: '{"region":"eu"}',
      headers: { 'mcp-param-region': 'EU' },
      header: 'mcp-param-region',
    },
    {
      name: 'an encoded string',
      args: '{"region":"eu"}',
      headers: { 'mcp-param-region': sentinel('us') },
      header: 'mcp-param-region',
    },
    { name: 'an integer', args: '{"shard":42}', headers: { 'mcp-param-shard': '43' }, header: 'mcp-param-shard' },
    {
      name: 'a number in the name of a string',
      args: '{"region":"42"}',
      headers: { 'mcp-param-region': '42.0' },
      header: 'mcp-param-region',
    },
    { name: 'a boolean', args: '{"dry":true}', headers: { 'mcp-param-dry-run': 'True' }, header: 'mcp-param-dry-run' },
  ];
  for (const one of cases) it(one.name, () => expectMismatch(one, one.header, otherThanBody));

  const equal: readonly Case[] = [
    { name: 'strings', args: '{"region":"eu"}', headers: { 'mcp-param-region': 'eu' } },
    { name: 'a string with escapes', args: '{"region":"\\u0065u"}', headers: { 'mcp-param-region': 'eu' } },
    { name: 'integers', args: '{"shard":-7}', headers: { 'mcp-param-shard': '-7' } },
    { name: 'integers of which the body has a fraction', args: '{"shard":42.0}', headers: { 'mcp-param-shard': '42' } },
    {
      name: 'integers of which the header has a fraction',
      args: '{"shard":42}',
      headers: { 'mcp-param-shard': '42.0' },
    },
    { name: 'booleans', args: '{"dry":false}', headers: { 'mcp-param-dry-run': 'false' } },
    { name: 'values inside objects', args: '{"at":{"zone":"b"}}', headers: { 'mcp-param-zone': 'b' } },
  ];
  for (const one of equal) it(`is accepted: ${one.name}`, () => expectPassed(call(one), one.headers));
});

describe('a header that cannot be decoded', verifies('gateway:modern:param-undecodable'), () => {
  const values = [
    { name: 'no Base64', value: '=?base64?!!?=' },
    { name: 'Base64 with a space in it', value: '=?base64?ZX U=?=' },
    { name: 'Base64 of no UTF-8', value: sentinel(Uint8Array.of(0xc3)) },
    { name: 'characters beyond ASCII', value: 'e\u00fc' },
  ];
  for (const { name, value } of values) {
    it(name, () =>
      expectMismatch(
        { name, args: '{"region":"eu"}', headers: { 'mcp-param-region': value } },
        'mcp-param-region',
        malformed,
      ),
    );
  }

  it(
    'is no fault where it can be: the value of the body is compared',
    verifies('gateway:modern:header-sentinel'),
    () => {
      const headers = { 'mcp-param-region': sentinel('Hello, 世界'), 'mcp-param-zone': sentinel('line1\nline2') };
      return expectPassed(call({ args: '{"region":"Hello, 世界","at":{"zone":"line1\\nline2"}}', headers }), headers);
    },
  );
});

describe('a header that the tool does not define', verifies('gateway:modern:param-unrecognised'), () => {
  const cases: readonly (Case & { tool: string })[] = [
    { name: 'one that no tool has', tool: 'routed', args: '{}', headers: { 'mcp-param-tenant': 'a' } },
    { name: 'one that another tool has', tool: 'free', args: '{"region":"eu"}', headers: { 'mcp-param-region': 'us' } },
    { name: 'of a tool that is in no list', tool: 'hidden', args: '{}', headers: { 'mcp-param-region': 'us' } },
    {
      name: 'one that could not be decoded',
      tool: 'free',
      args: '{}',
      headers: { 'mcp-param-a': '=?base64?*?=', 'mcp-param-b': '\u00fc' },
    },
  ];
  for (const { name, tool, ...one } of cases) {
    it(`is passed on as it is: ${name}`, () => expectPassed(call(one, tool), one.headers));
  }
});
