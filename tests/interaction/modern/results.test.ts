/** What every modern result has, whoever gave it. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Answer, type Json, send } from '../harness/client.ts';
import { type ModernRequest, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';

const hints = { ttlMs: 0, cacheScope: 'private' };
const theirs = { ttlMs: 60_000, cacheScope: 'public' };
const complete = { resultType: 'complete' };

/** Every request that has a result, and what a server says to it beside the words of the protocol. */
const operations: readonly (ModernRequest & { readonly says: object; readonly cacheable: boolean })[] = [
  { method: 'tools/list', says: { tools: [] }, cacheable: true },
  { method: 'prompts/list', says: { prompts: [] }, cacheable: true },
  { method: 'resources/list', says: { resources: [] }, cacheable: true },
  { method: 'resources/templates/list', says: { resourceTemplates: [] }, cacheable: true },
  { method: 'resources/read', params: { uri: 'a://b' }, says: { contents: [] }, cacheable: true },
  { method: 'tools/call', params: { name: 't' }, says: text('done'), cacheable: false },
  { method: 'prompts/get', params: { name: 'p' }, says: { messages: [] }, cacheable: false },
  { method: 'completion/complete', params: { ref: {} }, says: { completion: { values: [] } }, cacheable: false },
];

function answering(result: (method: string, says: object) => object): Script {
  return Object.fromEntries(
    operations.map(({ method, says }) => [method, (turn) => turn.result(result(method, says))]),
  );
}

async function ask(script: Script, request: ModernRequest, start = modernBackend): Promise<Answer> {
  const backend = await start(script);
  const gateway = await startGateway({ backends: { b: { url: backend.url } } });
  return send(gateway.url('b'), modern(request));
}

const legacyInfo = { _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'legacy', version: '1' } } };

describe('every result has a type', verifies('gateway:modern:result-type'), () => {
  for (const { says, cacheable, ...request } of operations) {
    it(`${request.method}, of a modern backend`, async () => {
      const answer = await ask(
        answering((_, said) => ({ ...complete, ...said, ...theirs })),
        request,
      );
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { ...complete, ...says, ...theirs } });
    });

    it(`${request.method}, of a modern backend that leaves it out`, async () => {
      const answer = await ask(
        answering((_, said) => ({ ...said, ...theirs })),
        request,
      );
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { ...says, ...theirs, ...complete } });
    });

    it(`${request.method}, of a legacy backend`, async () => {
      const answer = await ask(
        answering((_, said) => said),
        request,
        legacyBackend,
      );
      const added = { ...complete, ...(cacheable && hints), ...legacyInfo };
      expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: { ...says, ...added } });
    });
  }

  it('server/discover', async () => {
    expect((await ask({}, { method: 'server/discover' })).json().result).toMatchObject(complete);
    expect((await ask({}, { method: 'server/discover' }, legacyBackend)).json().result).toMatchObject(complete);
  });

  it('the end of a subscription', async () => {
    const answer = await ask(
      { 'subscriptions/listen': (turn) => turn.result({}) },
      { id: 's', method: 'subscriptions/listen', params: { notifications: {} } },
    );
    const _meta = { 'io.modelcontextprotocol/subscriptionId': 's' };
    expect(answer.events.map((event) => event.json())).toEqual([
      { jsonrpc: '2.0', id: 's', result: { ...complete, _meta } },
    ]);
  });

  it('and it is a known one: any other fails as backend_invalid', async () => {
    const answer = await ask(
      { 'tools/call': (turn) => turn.result({ resultType: 'odd' }) },
      { method: 'tools/call', params: { name: 't' } },
    );
    expect(answer.json()).toMatchObject({ id: 1, error: { code: -32603, data: { reason: 'backend_invalid' } } });
  });
});

describe('hints for caches', verifies('gateway:modern:cache-hints'), () => {
  const cacheable = operations.filter((operation) => operation.cacheable);
  for (const { says, ...request } of cacheable) {
    it(`of the backend are passed on: ${request.method}`, async () => {
      const answer = await ask(
        answering((_, said) => ({ ...complete, ...said, ...theirs })),
        request,
      );
      expect(answer.json().result).toEqual({ ...complete, ...says, ...theirs });
    });

    it(`are added if a modern backend sent none: ${request.method}`, async () => {
      const answer = await ask(
        answering((_, said) => ({ ...complete, ...said })),
        request,
      );
      expect(answer.json().result).toEqual({ ...complete, ...says, ...hints });
    });

    it(`are added where a modern backend gave half of them: ${request.method}`, async () => {
      const answer = await ask(
        answering((_, said) => ({ ...complete, ...said, ttlMs: 5 })),
        request,
      );
      expect(answer.json().result).toEqual({ ...complete, ...says, ttlMs: 5, cacheScope: 'private' });
    });

    it(`are added for a legacy backend: ${request.method}`, async () => {
      const answer = await ask(
        answering((_, said) => said),
        request,
        legacyBackend,
      );
      expect(answer.json().result).toEqual({ ...says, ...complete, ...hints, ...legacyInfo });
    });
  }

  it('stand in server/discover, too', async () => {
    const discover = { method: 'server/discover' };
    expect((await ask({}, discover)).json().result).toMatchObject(hints);
    expect((await ask({}, discover, legacyBackend)).json().result).toMatchObject(hints);
  });

  for (const { says, cacheable: _cacheable, ...request } of operations.filter((operation) => !operation.cacheable)) {
    it(`are not invented where there is nothing to cache: ${request.method}`, async () => {
      const modernly = await ask(
        answering((_, said) => ({ ...complete, ...said })),
        request,
      );
      expect(modernly.json().result).toEqual({ ...complete, ...says });
      const older = await ask(
        answering((_, said) => said),
        request,
        legacyBackend,
      );
      expect(older.json().result).toEqual({ ...says, ...complete, ...legacyInfo });
    });
  }

  const asking = { resultType: 'input_required', requestState: 's' };
  for (const method of ['tools/call', 'prompts/get', 'resources/read']) {
    const request = operations.find((operation) => operation.method === method) as ModernRequest;
    it(`are never on an input request: ${method}`, async () => {
      expect(
        (
          await ask(
            answering(() => asking),
            request,
          )
        ).json().result,
      ).toEqual(asking);
      expect(
        (
          await ask(
            answering(() => ({ ...theirs, ...asking })),
            request,
          )
        ).json().result,
      ).toEqual(asking);
    });

    it(`are never on an input request of a legacy backend: ${method}`, async () => {
      const params = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
      const script: Script = {
        [method]: (turn) => turn.stream().event({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params }),
      };
      const answer = await ask(script, { ...request, capabilities: { elicitation: {} } }, legacyBackend);
      expect(answer.json().result).toEqual({
        resultType: 'input_required',
        inputRequests: { 'ask-1': { method: 'elicitation/create', params } },
        requestState: expect.any(String),
      });
    });
  }
});

describe('an input request as a result', verifies('gateway:modern:no-input-required-elsewhere'), () => {
  const asking = {
    resultType: 'input_required',
    inputRequests: { a: { method: 'roots/list' } },
    requestState: 's',
  };
  const invalid = (answer: Answer): void => {
    const { error } = answer.json();
    expect(answer.status).toBe(200);
    expect({ code: error.code, reason: error.data.reason }).toEqual({ code: -32603, reason: 'backend_invalid' });
  };
  for (const { method, params = {} } of operations) {
    const allowed = method === 'tools/call' || method === 'prompts/get' || method === 'resources/read';
    it(`${allowed ? 'is passed on' : 'is a fault of the backend'}: ${method}`, async () => {
      const answer = await ask(
        answering(() => asking),
        { method, params, capabilities: { roots: {} } },
      );
      if (allowed) expect(answer.json()).toEqual({ jsonrpc: '2.0', id: 1, result: asking });
      else invalid(answer);
    });
  }

  const params = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
  for (const { method, params: own = {}, says } of operations.filter(
    ({ method: of }) => of.endsWith('list') || of.startsWith('completion'),
  )) {
    it(`is rejected for the client if a legacy backend sends a server request in the middle of ${method}`, async () => {
      const refused: Json[] = [];
      const script: Script = {
        [method]: (turn) => {
          turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params });
          waiting = () => turn.event({ jsonrpc: '2.0', id: turn.message.id, result: says }).end();
        },
        POST: (turn) => {
          refused.push(turn.message);
          turn.raw(202, {});
          waiting();
        },
      };
      let waiting = (): void => undefined;
      const answer = await ask(script, { method, params: own, capabilities: { elicitation: {} } }, legacyBackend);
      expect(answer.json().result).toMatchObject({ ...says, ...complete });
      expect(refused).toEqual([
        {
          jsonrpc: '2.0',
          id: 'q',
          error: { code: -32602, message: 'The client cannot answer this', data: { reason: 'ask_not_supported' } },
        },
      ]);
    });
  }
});
