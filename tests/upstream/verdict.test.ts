import { describe, expect, test } from 'vitest';
import { Failure } from '../../src/errors/failure.ts';
import type { ProbeAnswer } from '../../src/upstream/question.ts';
import { judge, takesNoPosts, type Verdict } from '../../src/upstream/verdict.ts';
import { skimMessage } from '../../src/wire/skim.ts';

function answered(body: Record<string, unknown>, status?: number): ProbeAnswer {
  const message = skimMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, ...body })));
  if (message.kind !== 'result' && message.kind !== 'error') throw new TypeError('no answer');
  return { kind: 'answered', message, http: status === undefined ? undefined : { status, sessionId: undefined } };
}

const result = (value: unknown, status?: number) => answered({ result: value }, status);
const error = (code: unknown, data?: unknown, status?: number) =>
  answered({ error: { code, message: 'no', data } }, status);
const failed = (status?: number): ProbeAnswer => ({
  kind: 'failed',
  failure: new Failure('backend_unavailable'),
  http: status === undefined ? undefined : { status, sessionId: undefined },
});

function short(verdict: Verdict): string {
  if (verdict.kind === 'modern') return `modern ${verdict.discovery.eras.join('+')}`;
  if (verdict.kind === 'none') return `none ${verdict.failure.reason}`;
  return verdict.kind;
}

const both: readonly { name: string; answer: ProbeAnswer; expect: string }[] = [
  {
    name: 'modern alone',
    answer: result({ supportedVersions: ['2026-07-28'], capabilities: {} }),
    expect: 'modern modern',
  },
  {
    name: 'both eras',
    answer: result({ supportedVersions: ['2025-06-18', '2026-07-28', '2099-01-01', 5], capabilities: {} }),
    expect: 'modern modern+legacy',
  },
  {
    name: 'legacy alone, though it knows the method',
    answer: result({ supportedVersions: ['2025-11-25'], capabilities: {} }),
    expect: 'legacy',
  },
  {
    name: 'a future that we do not know',
    answer: result({ supportedVersions: ['2099-01-01'], capabilities: {} }),
    expect: 'none backend_invalid',
  },
  { name: 'a result of something else', answer: result({}), expect: 'legacy' },
  { name: 'versions without capabilities', answer: result({ supportedVersions: ['2026-07-28'] }), expect: 'legacy' },
  { name: 'unknown method', answer: error(-32601), expect: 'legacy' },
  { name: 'invalid params', answer: error(-32602), expect: 'legacy' },
  { name: 'not initialized', answer: error(-32002), expect: 'legacy' },
  { name: 'a code that is no number', answer: error('E_NO'), expect: 'legacy' },
  {
    name: 'the revision is refused for one that we have',
    answer: error(-32022, { supported: ['2026-07-28'] }),
    expect: 'retry',
  },
  { name: 'refused for legacy ones', answer: error(-32022, { supported: ['2025-11-25'] }), expect: 'legacy' },
  {
    name: 'refused for unknown ones',
    answer: error(-32022, { supported: ['2099-01-01'] }),
    expect: 'none backend_invalid',
  },
  { name: 'refused without a word', answer: error(-32022), expect: 'none backend_invalid' },
  { name: 'rejected with an invalid error', answer: error(-32022, { supported: 1 }), expect: 'none backend_invalid' },
  { name: 'header mismatch', answer: error(-32020), expect: 'none backend_invalid' },
  { name: 'missing capability', answer: error(-32021), expect: 'none backend_invalid' },
];

const http: readonly { name: string; answer: ProbeAnswer; expect: string }[] = [
  { name: 'silence is an outage', answer: { kind: 'silent' }, expect: 'none backend_timeout' },
  { name: 'no connection', answer: failed(), expect: 'none backend_unavailable' },
  { name: '200 without a message', answer: failed(200), expect: 'legacy' },
  { name: '202', answer: failed(202), expect: 'legacy' },
  { name: '400 without a message', answer: failed(400), expect: 'legacy' },
  { name: '404 without a message', answer: failed(404), expect: 'legacy' },
  { name: '405 without a message', answer: failed(405), expect: 'legacy' },
  { name: '401', answer: failed(401), expect: 'none backend_unavailable' },
  { name: '403', answer: failed(403), expect: 'none backend_unavailable' },
  { name: '429', answer: failed(429), expect: 'none backend_unavailable' },
  { name: '500', answer: failed(500), expect: 'none backend_unavailable' },
  { name: '503', answer: failed(503), expect: 'none backend_unavailable' },
  { name: '400 with a session error', answer: error(-32000, undefined, 400), expect: 'legacy' },
  { name: '404 with unknown method', answer: error(-32601, undefined, 404), expect: 'legacy' },
  { name: '400 with a header mismatch', answer: error(-32020, undefined, 400), expect: 'none backend_invalid' },
  { name: '401 with a message', answer: error(-32001, undefined, 401), expect: 'none backend_unavailable' },
  { name: '500 with a message', answer: error(-32603, undefined, 500), expect: 'legacy' },
  { name: '502 with a message', answer: error(-32603, undefined, 502), expect: 'none backend_unavailable' },
];

const stdio: readonly { name: string; answer: ProbeAnswer; expect: string }[] = [
  { name: 'silence means legacy', answer: { kind: 'silent' }, expect: 'legacy' },
  { name: 'an exit means legacy', answer: failed(), expect: 'legacy' },
];

describe('the answer to a probe', () => {
  test.each(both)('over HTTP: $name: $expect', ({ answer, expect: wanted }) => {
    expect(short(judge(answer, 'http'))).toBe(wanted);
  });
  test.each(both)('over stdio: $name: $expect', ({ answer, expect: wanted }) => {
    expect(short(judge(answer, 'stdio'))).toBe(wanted);
  });
  test.each(http)('over HTTP alone: $name: $expect', ({ answer, expect: wanted }) => {
    expect(short(judge(answer, 'http'))).toBe(wanted);
  });
  test.each(stdio)('over stdio alone: $name: $expect', ({ answer, expect: wanted }) => {
    expect(short(judge(answer, 'stdio'))).toBe(wanted);
  });

  test('the info of a modern backend is kept', () => {
    const verdict = judge(
      result({
        resultType: 'complete',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: { x: 1 }, 'com.example/y': {} },
        instructions: 'be kind',
        ttlMs: 5,
        cacheScope: 'public',
        'com.example/z': [1],
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 's', version: '1', icons: [] }, k: 1 },
      }),
      'http',
    );
    expect(verdict.kind === 'modern' && verdict.discovery).toEqual({
      eras: ['modern'],
      revision: '2026-07-28',
      capabilities: { tools: { x: 1 }, 'com.example/y': {} },
      serverInfo: { name: 's', version: '1', icons: [] },
      instructions: 'be kind',
      rest: { ttlMs: 5, cacheScope: 'public', 'com.example/z': [1], _meta: { k: 1 } },
    });
  });
});

const posts: readonly { name: string; answer: ProbeAnswer; expect: boolean }[] = [
  { name: '400', answer: failed(400), expect: true },
  { name: '404', answer: failed(404), expect: true },
  { name: '405', answer: failed(405), expect: true },
  { name: '400 with a session error', answer: error(-32000, undefined, 400), expect: true },
  { name: '404 with a code that is no number', answer: error('E_NO', undefined, 404), expect: true },
  { name: '400 with a header mismatch', answer: error(-32020, undefined, 400), expect: false },
  { name: '400 with a missing capability', answer: error(-32021, undefined, 400), expect: false },
  { name: '400 with an unsupported version', answer: error(-32022, undefined, 400), expect: false },
  { name: '404 with unknown method', answer: error(-32601, undefined, 404), expect: false },
  { name: '400 with a result', answer: result({}, 400), expect: false },
  { name: '200 with an error', answer: error(-32000, undefined, 200), expect: false },
  { name: '200 without a message', answer: failed(200), expect: false },
  { name: '401', answer: failed(401), expect: false },
  { name: '403', answer: failed(403), expect: false },
  { name: '406', answer: failed(406), expect: false },
  { name: '500', answer: failed(500), expect: false },
  { name: 'no connection', answer: failed(), expect: false },
  { name: 'silence', answer: { kind: 'silent' }, expect: false },
];

describe('whether an address takes no POSTs', () => {
  test.each(posts)('$name: $expect', ({ answer, expect: wanted }) => {
    expect(takesNoPosts(answer)).toBe(wanted);
  });
});
