/** What every refusal has in common, whichever gate it comes from. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { refusal, request } from '../harness/behind.ts';
import { type Answer, type Call, type Json, send } from '../harness/client.ts';
import { type LegacyClient, modern } from '../harness/eras.ts';
import { type Fault, faultLimits, faults, read, unread, withoutId } from './faults.ts';
import { type House, launchHouse } from './house.ts';

let house: House;
let live: LegacyClient;
beforeAll(async () => {
  house = await launchHouse({ limits: faultLimits });
});
afterAll(() => house.close());
beforeEach(async () => {
  live ??= (await house.connect('/legacy/mcp')).client;
});

function commit({ path, call }: Fault, id = '7'): Promise<Answer> {
  return send(house.at(path), call(id, live));
}

/** Where the fault lies is told in `data.offset`, and told elsewhere. */
function shown(answer: Answer): Json {
  const body = answer.json();
  delete body.error.data.offset;
  return { status: answer.status, type: answer.headers['content-type'], body };
}

describe('is stopped, and no backend gets a byte', verifies('gateway:gates:zero-bytes'), () => {
  for (const fault of faults) {
    it(fault.name, async () => {
      house.forget();
      const answer = await commit(fault);
      expect(answer.status).toBe(fault.status);
      expect({ legacy: house.legacy.bytes, modern: house.modern.bytes }).toEqual({ legacy: 0, modern: 0 });
      // What comes next is the first that they hear of.
      await live.post(request(1, 'tools/list'));
      await send(house.at('/modern/mcp'), modern({ method: 'tools/list' }));
      for (const { received } of [house.legacy, house.modern]) {
        expect(received.map(({ http, message }) => `${http} ${message?.method}`)).toEqual(['POST tools/list']);
      }
    });
  }
});

describe('is refused with the id of the request, as it was written', verifies('gateway:gates:id-echoed'), () => {
  const ids = ['7', '0', '-1', '12345678901234567890', '"x"', '"0"', '""', String.raw`"\u0078\/é"`];
  for (const fault of read) {
    it(fault.name, async () => {
      for (const id of ids) {
        const answer = await commit(fault, id);
        expect(answer.body).toContain(`{"jsonrpc":"2.0","id":${id},"error":{`);
        expect(shown(answer)).toEqual({
          status: fault.status,
          type: 'application/json',
          body: refusal({ ...fault.refusal, id: JSON.parse(id) }),
        });
      }
    });
  }
});

describe('is refused without an id, not even null', verifies('gateway:gates:id-absent'), () => {
  for (const fault of [...unread, ...withoutId]) {
    it(fault.name, async () => {
      expect(shown(await commit(fault))).toEqual({
        status: fault.status,
        type: 'application/json',
        body: refusal(fault.refusal),
      });
    });
  }
});

describe('of several faults, the first gate answers', verifies('gateway:gates:order'), () => {
  const evil = { origin: 'https://evil.example' };
  const rebound = { host: 'evil.example' };
  const large = 'x'.repeat(faultLimits.bodyBytes + 1);
  const stale = { 'mcp-session-id': 'nobody' };
  const twins = '{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":1,"a":2}}';
  const modernSays = (version: string, more: object = {}) =>
    modern({ method: 'tools/list', meta: { 'io.modelcontextprotocol/protocolVersion': version, ...more } });

  interface Several {
    readonly name: string;
    readonly path?: string;
    readonly call: Call | (() => Call);
    readonly status: number;
    readonly reason: string;
  }
  const cases: readonly Several[] = [
    {
      name: 'path before origin',
      path: '/nowhere',
      call: { body: {}, headers: evil },
      status: 404,
      reason: 'path_not_found',
    },
    {
      name: 'HTTP method before origin',
      call: { method: 'PUT', headers: { ...evil, ...rebound } },
      status: 405,
      reason: 'method_not_allowed',
    },
    {
      name: 'origin before host',
      call: { headers: { ...evil, ...rebound } },
      status: 403,
      reason: 'origin_not_allowed',
    },
    {
      name: 'host before preflight',
      call: { method: 'OPTIONS', headers: { ...rebound, origin: 'http://localhost' } },
      status: 403,
      reason: 'host_not_allowed',
    },
    { name: 'host before size', call: { body: large, headers: rebound }, status: 403, reason: 'host_not_allowed' },
    { name: 'size before shape', call: { body: large, headers: stale }, status: 413, reason: 'body_too_large' },
    { name: 'grammar before session', call: { body: '{', headers: stale }, status: 400, reason: 'parse_error' },
    { name: 'grammar before ambiguity', call: { body: `${twins}}` }, status: 400, reason: 'parse_error' },
    { name: 'ambiguity before session', call: { body: twins, headers: stale }, status: 400, reason: 'ambiguous_json' },
    {
      name: 'session before batch, where arrays are allowed',
      path: '/batches/mcp',
      call: { body: '[', headers: stale },
      status: 404,
      reason: 'session_not_found',
    },
    {
      name: 'session before version',
      call: { body: request(7, 'tools/list'), headers: { ...stale, 'mcp-protocol-version': 'banana' } },
      status: 404,
      reason: 'session_not_found',
    },
    {
      name: 'version before method',
      call: () => ({
        body: request(7, 'tools/burn'),
        headers: { ...live.headers, 'mcp-protocol-version': 'banana' },
      }),
      status: 400,
      reason: 'unsupported_version_header',
    },
    {
      name: 'envelope before headers',
      path: '/modern/mcp',
      call: { body: request(7, 'tools/list'), headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'x' } },
      status: 400,
      reason: 'missing_meta',
    },
    {
      name: 'agreement before support',
      path: '/modern/mcp',
      call: modernSays('1900-01-01'),
      status: 400,
      reason: 'header_mismatch',
    },
    {
      name: 'support before capabilities',
      path: '/modern/mcp',
      call: {
        ...modernSays('1900-01-01', { 'io.modelcontextprotocol/clientCapabilities': undefined }),
        headers: { 'mcp-protocol-version': '1900-01-01', 'mcp-method': 'tools/list' },
      },
      status: 400,
      reason: 'unsupported_version',
    },
    {
      name: 'capabilities before method',
      path: '/modern/mcp',
      call: modern({ method: 'tools/burn', meta: { 'io.modelcontextprotocol/clientCapabilities': undefined } }),
      status: 400,
      reason: 'missing_meta',
    },
  ];

  for (const { name, path = '/legacy/mcp', call, status, reason } of cases) {
    it(name, async () => {
      house.forget();
      const answer = await send(house.at(path), typeof call === 'function' ? call() : call);
      expect({ status: answer.status, reason: answer.json().error.data.reason }).toEqual({ status, reason });
      expect(house.legacy.bytes + house.modern.bytes).toBe(0);
    });
  }
});
