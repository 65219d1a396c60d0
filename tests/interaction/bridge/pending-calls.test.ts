/**
 * A modern client whose legacy backend asks: the call waits, and the client holds a state that brings it back.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr#server-requirements-basic-workflow
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { behindLegacy, expectRefused, Held, type Settings, text } from '../harness/behind.ts';
import { type Answer, begin, type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, type Script, type Turn } from '../harness/http-backend.ts';

const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const capabilities = { elicitation: {} };
const invalid = { code: -32602, message: 'Invalid requestState', reason: 'invalid_request_state', id: 2 };

/** Asks who is calling, and answers with the name. */
class Asking {
  readonly calls = new Held();
  /** What came back to the questions. */
  readonly answers: Json[] = [];
  readonly script: Script = {
    'tools/call': (turn) => this.#ask(turn),
    'prompts/get': (turn) => this.#ask(turn),
    POST: (turn) => {
      turn.raw(202, {});
      this.answers.push(turn.message);
      const call = this.calls.turns.find(({ message }) => turn.message.id === `q${message.id}`);
      const name = turn.message.result?.content?.name;
      call?.event({ jsonrpc: '2.0', id: call.message.id, result: { ...text(`Hello ${name}`), messages: [] } }).end();
    },
  };

  #ask(turn: Turn): void {
    this.calls.take(turn);
    turn.stream().event({ jsonrpc: '2.0', id: `q${turn.message.id}`, method: 'elicitation/create', params: form });
  }
}

interface Parked {
  readonly state: string;
  /** The same request again, with changes. */
  retry(params?: object, method?: string): Promise<Answer>;
}

const params = { name: 'greet', arguments: { n: 1, deep: { a: [1, 2], b: 'x' } } };
const accept = (name: string) => ({ 'ask-1': { action: 'accept', content: { name } } });

async function park(url: string): Promise<Parked> {
  const first = await send(url, modern({ id: 1, method: 'tools/call', params, capabilities }));
  const { result } = first.json();
  expect(result).toEqual({
    resultType: 'input_required',
    inputRequests: { 'ask-1': { method: 'elicitation/create', params: form } },
    requestState: expect.any(String),
  });
  const { requestState } = result;
  return {
    state: requestState,
    retry: (changes = {}, method = 'tools/call') => {
      const again = { ...params, inputResponses: accept('Ada'), requestState, ...changes };
      return send(url, modern({ id: 2, method, params: again, capabilities }));
    },
  };
}

async function behindAsking(settings: Settings = {}) {
  const asking = new Asking();
  return { asking, ...(await behindLegacy(asking.script, settings)) };
}

const greeted = (answer: Answer): void => expect(answer.json().result).toMatchObject(text('Hello Ada'));

describe('a state', verifies('gateway:bridge:state-sealed'), () => {
  const flip = (state: string, at: number) => {
    const index = at < 0 ? state.length + at : at;
    return `${state.slice(0, index)}${state[index] === 'A' ? 'B' : 'A'}${state.slice(index + 1)}`;
  };
  const changes: readonly { name: string; of: (state: string) => object; method?: string }[] = [
    { name: 'its first character', of: (state) => ({ requestState: flip(state, 0) }) },
    { name: 'a character in its middle', of: (state) => ({ requestState: flip(state, state.length >> 1) }) },
    { name: 'its end', of: (state) => ({ requestState: state.slice(0, -4) }) },
    { name: 'something behind it', of: (state) => ({ requestState: `${state}AAAA` }) },
    { name: 'nothing left of it', of: () => ({ requestState: '' }) },
    { name: 'something that is no text', of: () => ({ requestState: 5 }) },
    { name: 'a state of somebody else', of: () => ({ requestState: 'bWFkZSB1cCBieSB0aGUgY2xpZW50' }) },
    { name: 'another argument', of: () => ({ arguments: { ...params.arguments, n: 2 } }) },
    { name: 'an argument more', of: () => ({ arguments: { ...params.arguments, m: 2 } }) },
    { name: 'another order in a list', of: () => ({ arguments: { n: 1, deep: { a: [2, 1], b: 'x' } } }) },
    { name: 'another tool', of: () => ({ name: 'other' }) },
    { name: 'a parameter that was not there', of: () => ({ extra: true }) },
    { name: 'another method', of: () => ({}), method: 'prompts/get' },
  ];

  it('with anything changed is refused, and the call waits on', async () => {
    const { url, asking, backend } = await behindAsking();
    const parked = await park(url);
    for (const { name, of, method } of changes) {
      const answer = await parked.retry(of(parked.state), method);
      expect({ name, ...answer.json() }).toEqual({ name, ...refused });
      expect(answer.status).toBe(200);
    }
    expect(asking.answers).toEqual([]);
    expect(backend.of('notifications/cancelled')).toEqual([]);
    greeted(await parked.retry());
    expect(backend.of('tools/call')).toHaveLength(1);
    expect(backend.of('prompts/get')).toHaveLength(0);
  });
  const { id, code, message, reason } = invalid;
  const refused = { jsonrpc: '2.0', id, error: { code, message, data: { reason } } };

  it('opens for the same request in another spelling and with other client info', async () => {
    const { url } = await behindAsking();
    const { state } = await park(url);
    const spelled = `{"arguments":{"deep":{"b":"\\u0078","a":[1,2]},"n":1},"name":"greet","inputResponses":${JSON.stringify(accept('Ada'))},"requestState":${JSON.stringify(state)},"_meta":"@"}`;
    const { headers, body } = modern({
      id: 2,
      method: 'tools/call',
      params,
      capabilities,
      meta: { traceparent: '00-1' },
    });
    const { _meta } = (body as Json).params;
    const text = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${spelled.replace('"@"', JSON.stringify(_meta))}}`;
    greeted(await send(url, { headers: headers ?? {}, body: text }));
  });

  it.each([
    { first: '9007199254740993', next: '9007199254740992' },
    { first: '1e400', next: 'null' },
    { first: '1', next: '1.0' },
    { first: '-0', next: '0' },
  ])('is bound to the spelling of numbers: $first is not $next', async ({ first, next }) => {
    const { url, backend } = await behindAsking();
    const post = (number: string, more = {}) => {
      const { headers, body } = modern({
        id: 2,
        method: 'tools/call',
        params: { name: 'greet', arguments: { n: '@' }, ...more },
        capabilities,
      });
      return send(url, { headers: headers ?? {}, body: JSON.stringify(body).replace('"@"', number) });
    };
    const { requestState } = (await post(first)).json().result;
    const round = { requestState, inputResponses: accept('Ada') };
    expect((await post(next, round)).json()).toEqual(refused);
    greeted(await post(first, round));
    expect(backend.of('tools/call')).toHaveLength(1);
  });

  it('is refused at another address', async () => {
    const asking = new Asking();
    const backend = await legacyBackend(asking.script);
    const endpoints = [{ path: '/one' }, { path: '/two' }];
    const gateway = await startGateway({ backends: { b: { url: backend.url } }, endpoints });
    const { state, retry } = await park(`${gateway.origin}/one`);
    const again = { ...params, inputResponses: accept('Eve'), requestState: state };
    const there = await send(
      `${gateway.origin}/two`,
      modern({ id: 2, method: 'tools/call', params: again, capabilities }),
    );
    expectRefused(there, 200, invalid);
    expect(asking.answers).toEqual([]);
    greeted(await retry());
  });

  it('is refused when it is too old', async () => {
    const clock = new LeapClock();
    const { url } = await behindAsking({ ports: { clock }, limits: { parkedMs: 60_000 } });
    const parked = await park(url);
    clock.leap(60_000);
    expectRefused(await parked.retry(), 200, invalid);
  });

  it('reveals nothing to the client, and is never the same', async () => {
    const { url, backend } = await behindAsking();
    const states = [(await park(url)).state, (await park(url)).state];
    expect(new Set(states).size).toBe(2);
    const [call] = backend.of('tools/call');
    for (const state of states) {
      const plain = `${state}${Buffer.from(state, 'base64').toString('latin1')}`;
      expect(plain).not.toContain(String(call?.headers['mcp-session-id']));
      expect(plain).not.toContain('greet');
    }
  });

  it('is invalid after a restart without a configured key', async () => {
    const { url, backend } = await behindAsking();
    const { state } = await park(url);
    const other = await startGateway({ backends: { b: { url: backend.url } }, endpoints: [{ path: '/mcp' }] });
    const again = { ...params, inputResponses: accept('Ada'), requestState: state };
    const answer = await send(other.url(), modern({ id: 2, method: 'tools/call', params: again, capabilities }));
    expectRefused(answer, 200, invalid);
  });
});

describe('a pending call', () => {
  it('is resumed once by many concurrent retries', verifies('gateway:bridge:state-once'), async () => {
    const { url, asking, backend } = await behindAsking();
    const parked = await park(url);
    const answers = await Promise.all(Array.from({ length: 8 }, () => parked.retry()));
    const served = answers.filter((answer) => answer.json().result !== undefined);
    expect(served).toHaveLength(1);
    greeted(served[0] as Answer);
    for (const answer of answers) if (!served.includes(answer)) expectRefused(answer, 200, invalid);
    // And not by those who come later.
    expectRefused(await parked.retry(), 200, invalid);
    expect(asking.answers).toHaveLength(1);
    expect(backend.of('tools/call')).toHaveLength(1);
  });

  it(
    'of a client that does not return is cancelled, and leaves nothing open',
    verifies('gateway:bridge:parked-expires'),
    async () => {
      const clock = new LeapClock();
      const { url, asking, backend, gateway } = await behindAsking({ ports: { clock }, limits: { parkedMs: 60_000 } });
      const parked = await park(url);
      const call = await asking.calls.nth(1);
      clock.leap(59_000);
      expect(backend.of('notifications/cancelled')).toEqual([]);
      clock.leap(2_000);
      const told = await backend.arrival('notifications/cancelled');
      expect(told.message.params).toEqual({
        requestId: call.message.id,
        reason: 'The client did not retry the request in time',
      });
      await call.closed;
      expectRefused(await parked.retry(), 200, invalid);
      expect(asking.answers.filter(({ result }) => result !== undefined)).toEqual([]);
      // Its session is no longer in use, so that it goes the way of all idle ones.
      backend.forget();
      clock.leap(60 * 60 * 1000);
      await until(() => backend.received.some(({ http }) => http === 'DELETE'), 'the session is ended');
      expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );

  it('makes room for others when it has expired', verifies('gateway:bridge:parked-expires'), async () => {
    const clock = new LeapClock();
    const limits = { parkedMs: 60_000, parkedPerPrincipal: 2 };
    // Two backends, so that it is not the sessions at one of them that are too many.
    const [one, two] = [await legacyBackend(new Asking().script), await legacyBackend(new Asking().script)];
    const backends = { one: { url: one.url }, two: { url: two.url } };
    const gateway = await startGateway({ backends, limits }, { clock });
    await park(gateway.url('one'));
    await park(gateway.url('two'));
    const third = () => send(gateway.url('one'), modern({ id: 2, method: 'tools/call', params, capabilities }));
    expectRefused(await third(), 200, {
      code: -32603,
      message: 'Too many calls wait for input',
      reason: 'too_many_parked',
      id: 2,
    });
    clock.leap(60_000);
    expect((await third()).json().result.resultType).toBe('input_required');
  });

  it('is cancelled when the gateway stops', verifies('gateway:bridge:parked-expires'), async () => {
    const { url, asking, backend, gateway } = await behindAsking();
    await park(url);
    const call = await asking.calls.nth(1);
    await gateway.close(0);
    await call.closed;
    const told = await backend.arrival('notifications/cancelled');
    expect(told.message.params.requestId).toBe(call.message.id);
  });

  it('is cancelled when its client retries and disconnects', verifies('gateway:bridge:parked-expires'), async () => {
    const clock = new LeapClock();
    const probes = new Held();
    const asking = new Asking();
    let probing = false;
    const script: Script = {
      ...asking.script,
      'server/discover': (turn) => {
        if (probing) probes.take(turn);
        else turn.error(-32601, 'Method not found', undefined, 400);
      },
    };
    const limits = { parkedMs: 3_600_000, probeAgeMs: 60_000, totalMs: 7_200_000, idleMs: 7_200_000 };
    const { url, backend } = await behindLegacy(script, { ports: { clock }, limits });
    const { state } = await park(url);
    const call = await asking.calls.nth(1);
    // What the gateway knows of the backend is old: it asks again before it looks for the call.
    clock.leap(120_000);
    probing = true;
    const again = { ...params, inputResponses: accept('Ada'), requestState: state };
    const client = begin(url, modern({ id: 2, method: 'tools/call', params: again, capabilities }));
    const probe = await probes.nth(1);
    client.drop();
    // Two round trips after which the end of that connection must have been seen.
    for (let i = 0; i < 2; i++) await send(url, { method: 'OPTIONS' });
    probe.error(-32601, 'Method not found', undefined, 400);
    await call.closed;
    const told = await backend.arrival('notifications/cancelled');
    expect(told.message.params.requestId).toBe(call.message.id);
  });
});
