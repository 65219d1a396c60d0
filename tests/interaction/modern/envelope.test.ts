/** What every modern request must say of itself, and what it is answered where it does not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { expectRefused, type Refusal, text } from '../harness/behind.ts';
import { send } from '../harness/client.ts';
import { modern, modernHeaders, modernMeta } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend } from '../harness/http-backend.ts';
import { launchBehind, type Shared } from './setup.ts';

const key = (name: string) => `io.modelcontextprotocol/${name}`;
const required = {
  code: -32021,
  message: 'Elicitation is needed',
  data: { requiredCapabilities: { elicitation: { form: {} } } },
};

let shared: Shared;
beforeAll(async () => {
  shared = await launchBehind(
    {
      'tools/call': (turn) => {
        const { [key('clientCapabilities')]: capabilities } = turn.message.params._meta;
        if (capabilities.elicitation === undefined) turn.error(required.code, required.message, required.data, 400);
        else turn.result({ resultType: 'complete', ...text(JSON.stringify(capabilities)) });
      },
      'completion/complete': (turn) => turn.error(-32601, 'No such thing', { here: true }, 404),
    },
    { capabilities: { tools: {}, completions: {} } },
  );
});
afterAll(() => shared.close());

/** Refused, and the backend never heard of it. */
async function expectKept(
  url: string,
  call: Parameters<typeof send>[1],
  status: number,
  refusal: Refusal,
): Promise<void> {
  shared.backend.forget();
  expectRefused(await send(url, call), status, refusal);
  expect(shared.backend.bytes).toBe(0);
}

describe('an envelope in which something is missing', verifies('gateway:modern:meta-missing'), () => {
  const { [key('protocolVersion')]: _version, ...noVersion } = modernMeta() as Record<string, unknown>;
  const { [key('clientCapabilities')]: _capabilities, ...noCapabilities } = modernMeta() as Record<string, unknown>;
  const cases = [
    { name: 'no parameters', params: undefined, lacks: 'protocolVersion' },
    { name: 'no _meta', params: {}, lacks: 'protocolVersion' },
    { name: 'a _meta that is no object', params: { _meta: [] }, lacks: 'protocolVersion' },
    { name: 'no revision', params: { _meta: noVersion }, lacks: 'protocolVersion' },
    {
      name: 'a revision that is no string',
      params: { _meta: { ...noVersion, [key('protocolVersion')]: 20260728 } },
      lacks: 'protocolVersion',
    },
    { name: 'no capabilities', params: { _meta: noCapabilities }, lacks: 'clientCapabilities' },
    ...[null, [], 'elicitation', true].map((value) => ({
      name: `capabilities that are no object: ${JSON.stringify(value)}`,
      params: { _meta: { ...noCapabilities, [key('clientCapabilities')]: value } },
      lacks: 'clientCapabilities',
    })),
  ];
  for (const { name, params, lacks } of cases) {
    it(name, () =>
      expectKept(
        shared.url,
        { headers: modernHeaders('tools/list'), body: { jsonrpc: '2.0', id: 0, method: 'tools/list', params } },
        400,
        { code: -32602, message: `_meta must have ${key(lacks)}`, reason: 'missing_meta', id: 0 },
      ),
    );
  }

  it('is complete without a name of the client', async () => {
    const { [key('clientInfo')]: _info, ...anonymous } = modernMeta({ elicitation: {} }) as Record<string, unknown>;
    const answer = await send(shared.url, {
      headers: modernHeaders('tools/call', 't'),
      body: { jsonrpc: '2.0', id: 0, method: 'tools/call', params: { name: 't', _meta: anonymous } },
    });
    expect(answer.json()).toMatchObject({ id: 0, result: text('{"elicitation":{}}') });
  });
});

describe('a revision that is not served', verifies('gateway:modern:revision-unsupported'), () => {
  const asking = (version: string, method = 'tools/list') => ({
    headers: { ...modernHeaders(method), 'mcp-protocol-version': version },
    body: {
      jsonrpc: '2.0',
      id: 'v',
      method,
      params: { _meta: { ...modernMeta(), [key('protocolVersion')]: version } },
    },
  });
  const unsupported = (requested: string, supported: readonly string[]): Refusal => ({
    code: -32022,
    message: 'Unsupported protocol version',
    reason: 'unsupported_version',
    data: { supported, requested },
    id: 'v',
  });
  const byDefault = ['2026-07-28', '2025-11-25', '2025-06-18', '2024-11-05'];

  for (const version of ['2099-01-01', '1900-01-01', 'draft', '2025-11-25']) {
    it(`gets an error that names the supported ones: ${version}`, () =>
      expectKept(shared.url, asking(version), 400, unsupported(version, byDefault)));
  }

  it('gets an error for server/discover, too', () =>
    expectKept(shared.url, asking('2099-01-01', 'server/discover'), 400, unsupported('2099-01-01', byDefault)));

  it('is one that the profile leaves out', async () => {
    const endpoints = [{ path: '/mcp', profile: { revisions: ['2025-06-18', '2025-11-25'] } }];
    const gateway = await startGateway({ backends: { b: { url: shared.backend.url } }, endpoints });
    const refusal = unsupported('2026-07-28', ['2025-11-25', '2025-06-18']);
    await expectKept(gateway.url(), asking('2026-07-28'), 400, refusal);
    await expectKept(gateway.url(), asking('2026-07-28', 'server/discover'), 400, refusal);
  });
});

describe('a capability that the client lacks', verifies('gateway:modern:capability-missing'), () => {
  const call = (capabilities: object) => modern({ id: 5, method: 'tools/call', params: { name: 't' }, capabilities });

  it('is named where the call cannot go on without it', async () => {
    const answer = await send(shared.url, call({ sampling: {} }));
    expect(answer.status).toBe(400);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 5, error: required });
  });

  it('is not missed where it was declared', async () => {
    const answer = await send(shared.url, call({ elicitation: { form: {} }, sampling: {} }));
    expect(answer.status).toBe(200);
    expect(answer.json().result).toMatchObject(text('{"elicitation":{"form":{}},"sampling":{}}'));
  });
});

describe('an unknown method', verifies('gateway:modern:method-404'), () => {
  const notFound = (method: string): Refusal => ({
    code: -32601,
    message: 'Method not found',
    reason: 'method_removed',
    data: { method },
    id: 1,
  });
  const unknown = ['nothing', 'tools/', 'Tools/List', 'rpc.discover', 'notifications/cancelled', 'server/discover2'];
  const removed = ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'];
  const ofServers = ['sampling/createMessage', 'elicitation/create', 'roots/list'];
  const unadvertised = ['prompts/list', 'prompts/get', 'resources/list', 'resources/read', 'resources/templates/list'];
  for (const [what, methods] of Object.entries({ unknown, removed, 'of servers alone': ofServers, unadvertised })) {
    for (const method of methods) {
      it(`${what}: ${method}`, () =>
        expectKept(
          shared.url,
          modern({ method, params: { name: 'n', uri: 'n' }, headers: { 'mcp-name': 'n' } }),
          404,
          notFound(method),
        ));
    }
  }

  it('at the backend, though it advertised it', async () => {
    const answer = await send(shared.url, modern({ method: 'completion/complete' }));
    expect(answer.status).toBe(404);
    expect(answer.json()).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32601, message: 'No such thing', data: { here: true } },
    });
  });

  it('at a legacy backend', async () => {
    const backend = await legacyBackend({}, { capabilities: { tools: {} } });
    const gateway = await startGateway({ backends: { b: { url: backend.url } } });
    for (const method of ['prompts/list', 'ping', 'resources/subscribe']) {
      const answer = await send(gateway.url('b'), modern({ method }));
      expectRefused(answer, 404, notFound(method));
      expect(backend.of(method)).toEqual([]);
    }
  });

  it('is reported inside the stream if that has begun', async () => {
    const backend = await modernBackend({ 'tools/call': (turn) => turn.error(-32601, 'Gone', undefined, 404) });
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, limits: { sseAfterMs: 0 } });
    const answer = await send(gateway.url('b'), modern({ method: 'tools/call', params: { name: 't' } }));
    expect(answer.status).toBe(200);
    expect(answer.events.map((event) => event.json())).toEqual([
      { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'Gone' } },
    ]);
  });
});
