/**
 * The headers that repeat what the body says.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#server-validation
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { expectRefused, text } from '../harness/behind.ts';
import { type Call, send } from '../harness/client.ts';
import { modern, modernMeta } from '../harness/eras.ts';
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

const plain = modern({ id: 'x', method: 'tools/list' });
const tool = (name: string) => modern({ id: 'x', method: 'tools/call', params: { name } });
const prompt = (name: string) => modern({ id: 'x', method: 'prompts/get', params: { name } });
const resource = (uri: string) => modern({ id: 'x', method: 'resources/read', params: { uri } });
const complete = { resultType: 'complete' };

let shared: Shared;
beforeAll(async () => {
  shared = await launchBehind({
    'tools/list': (turn) => turn.result({ ...complete, tools: [], ttlMs: 0, cacheScope: 'private' }),
    'tools/call': (turn) => turn.result({ ...complete, ...text(turn.message.params.name) }),
    'prompts/get': (turn) => turn.result({ ...complete, messages: [], description: turn.message.params.name }),
    'resources/read': (turn) =>
      turn.result({
        ...complete,
        contents: [{ uri: turn.message.params.uri, text: '' }],
        ttlMs: 0,
        cacheScope: 'private',
      }),
  });
});
afterAll(() => shared.close());

/** Refused, and the backend never heard of it. */
async function expectMismatch(call: Call, header: string, what: string): Promise<void> {
  shared.backend.forget();
  expectRefused(await send(shared.url, call), 400, mismatch(header, what, 'x'));
  expect(shared.backend.bytes).toBe(0);
}

interface Case {
  readonly name: string;
  readonly call: Call;
  readonly header: string;
}

const named = [
  { method: 'tools/call', call: tool('right') },
  { method: 'prompts/get', call: prompt('right') },
  { method: 'resources/read', call: resource('file:///right') },
];

describe('a header that disagrees with the body', verifies('gateway:modern:header-mismatch'), () => {
  const cases: readonly Case[] = [
    {
      name: 'an older version',
      call: withHeaders(plain, { 'mcp-protocol-version': '2025-11-25' }),
      header: 'MCP-Protocol-Version',
    },
    {
      name: 'an unknown version',
      call: withHeaders(plain, { 'mcp-protocol-version': 'tomorrow' }),
      header: 'MCP-Protocol-Version',
    },
    { name: 'another method', call: withHeaders(plain, { 'mcp-method': 'tools/call' }), header: 'Mcp-Method' },
    { name: 'the method in capitals', call: withHeaders(plain, { 'mcp-method': 'TOOLS/LIST' }), header: 'Mcp-Method' },
    ...named.map(({ method, call }) => ({
      name: `another name of ${method}`,
      call: withHeaders(call, { 'mcp-name': 'wrong' }),
      header: 'Mcp-Name',
    })),
    { name: 'the name in capitals', call: withHeaders(tool('right'), { 'mcp-name': 'RIGHT' }), header: 'Mcp-Name' },
    {
      name: 'a name without one in the body',
      call: withHeaders(modern({ id: 'x', method: 'tools/call' }), { 'mcp-name': 'right' }),
      header: 'Mcp-Name',
    },
  ];
  for (const { name, call, header } of cases) it(name, () => expectMismatch(call, header, otherThanBody));

  it('two names of which one is right', async () => {
    const call = tool('right');
    const twice = { ...call, headers: { ...call.headers, 'mcp-name': ['right', 'wrong'] as unknown as string } };
    await expectMismatch(twice, 'Mcp-Name', otherThanBody);
  });
});

describe('a header that is not there', verifies('gateway:modern:header-missing'), () => {
  const cases: readonly Case[] = [
    {
      name: 'the version',
      call: withHeaders(plain, { 'mcp-protocol-version': undefined }),
      header: 'MCP-Protocol-Version',
    },
    { name: 'the method', call: withHeaders(plain, { 'mcp-method': undefined }), header: 'Mcp-Method' },
    ...named.map(({ method, call }) => ({
      name: `the name of ${method}`,
      call: withHeaders(call, { 'mcp-name': undefined }),
      header: 'Mcp-Name',
    })),
  ];
  for (const { name, call, header } of cases) it(name, () => expectMismatch(call, header, missing));

  it('is no fault where the method has no name', async () => {
    const answer = await send(shared.url, modern({ id: 'x', method: 'tools/list' }));
    expect(answer.status).toBe(200);
  });
});

describe('a name that is no plain header value', verifies('gateway:modern:header-sentinel'), () => {
  const calls = [
    { method: 'tools/call', call: tool('Hello, 世界'), name: 'Hello, 世界' },
    { method: 'prompts/get', call: prompt(' padded '), name: ' padded ' },
    { method: 'resources/read', call: resource('file:///ü'), name: 'file:///ü' },
    { method: 'tools/call', call: tool('=?base64?literal?='), name: '=?base64?literal?=' },
  ];
  for (const { method, call, name } of calls) {
    it(`is decoded before it is compared, and encoded again for the backend: ${method} ${name}`, async () => {
      shared.backend.forget();
      const answer = await send(shared.url, withHeaders(call, { 'mcp-name': sentinel(name) }));
      expect(answer.status).toBe(200);
      const [received] = shared.backend.of(method);
      expect(received?.headers['mcp-name']).toBe(sentinel(name));
      expect(received?.message.params.uri ?? received?.message.params.name).toBe(name);
    });
  }

  it('may be encoded though it is plain', async () => {
    const answer = await send(shared.url, withHeaders(tool('right'), { 'mcp-name': sentinel('right') }));
    expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 'x', result: { ...complete, ...text('right') } });
  });

  it('is compared after decoding', () =>
    expectMismatch(withHeaders(tool('right'), { 'mcp-name': sentinel('wrong') }), 'Mcp-Name', otherThanBody));

  const unreadable = [
    { name: 'no Base64', value: '=?base64?*?=' },
    { name: 'Base64 without its padding', value: '=?base64?cmlnaHQ?=' },
    { name: 'no UTF-8', value: sentinel(Uint8Array.of(0xff)) },
    { name: 'characters that no header may have', value: 'r\u00efght' },
  ];
  for (const { name, value } of unreadable) {
    it(`is refused where it cannot be decoded: ${name}`, () =>
      expectMismatch(withHeaders(tool('right'), { 'mcp-name': value }), 'Mcp-Name', malformed));
  }

  const nowhereElse = [
    { header: 'MCP-Protocol-Version', value: '2026-07-28' },
    { header: 'Mcp-Method', value: 'tools/list' },
  ];
  for (const { header, value } of nowhereElse) {
    it(`is not decoded in ${header}`, () =>
      expectMismatch(withHeaders(plain, { [header.toLowerCase()]: sentinel(value) }), header, otherThanBody));
  }

  it('keeps its capitals: the markers are lower case', () =>
    expectMismatch(
      withHeaders(tool('right'), { 'mcp-name': sentinel('right').replace('base64', 'BASE64') }),
      'Mcp-Name',
      otherThanBody,
    ));
});

describe('a mismatch', verifies('gateway:modern:mismatch-before-support'), () => {
  const unknown = (version: string | undefined): Call => ({
    headers: { 'mcp-method': 'tools/list', ...(version === undefined ? {} : { 'mcp-protocol-version': version }) },
    body: {
      jsonrpc: '2.0',
      id: 'x',
      method: 'tools/list',
      params: { _meta: { ...modernMeta(), 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } },
    },
  });
  const cases = [
    { name: 'the revision in the body', call: unknown('2026-07-28'), what: otherThanBody },
    { name: 'the revision of both, and they differ', call: unknown('2098-01-01'), what: otherThanBody },
    { name: 'the revision in the body, and there is no header', call: unknown(undefined), what: missing },
  ];
  for (const { name, call, what } of cases) {
    it(`is reported even for an unknown ${name}`, () => expectMismatch(call, 'MCP-Protocol-Version', what));
  }

  it('is reported of the method even for an unknown revision', () =>
    expectMismatch(withHeaders(unknown('2099-01-01'), { 'mcp-method': 'ping' }), 'Mcp-Method', otherThanBody));
});
