/**
 * Two gateways, each a process of its own, behind a balancer that sends each request to the next one. What is passed on
 * holds nothing between requests, so that any of them can serve any round. What one of them has to hold is refused by
 * the other in words, and waits for nobody.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic#statelessness
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../features/samples.ts';
import { type Json, send } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';
import { configFile, type Served, serve } from '../harness/program.ts';
import { type RoundRobin, startRoundRobin } from '../harness/round-robin.ts';
import { type Backend, launchBackend, type Version } from './backends.ts';
import { connect, type Speaker } from './speakers.ts';
import { form, steps } from './world.ts';

const path = '/servers/b/mcp';
const capabilities = { elicitation: { form: {}, url: {} } };
const env = { BASCULE_SEAL_KEY: 'the same for all replicas, 32 characters and more' };

interface Replicas {
  readonly backend: Backend;
  readonly gateways: readonly Served[];
  readonly balancer: RoundRobin;
  readonly url: string;
}

async function startReplicas(version: Version, settings: object = {}): Promise<Replicas> {
  const backend = await launchBackend(version, 'http');
  onTestFinished(() => backend.close());
  const config = configFile({ backends: { b: backend.config }, ...settings });
  const gateways = await Promise.all([serve([], { ...config, env }), serve([], { ...config, env })]);
  const balancer = await startRoundRobin(gateways.map(({ origin }) => origin));
  return { backend, gateways, balancer, url: `${balancer.origin}${path}` };
}

async function connected(version: Version, url: string): Promise<Speaker> {
  const speaker = await connect(version, { url });
  onTestFinished(() => speaker.close());
  return speaker;
}

const shared = { seal: { key: `\${BASCULE_SEAL_KEY}` } };
const answer = ({ requestedSchema }: Json) => {
  const [field = ''] = requestedSchema.required;
  return { action: 'accept', content: { [field]: field.toUpperCase() } };
};
const said = steps.map((step) => `accept ${step.toUpperCase()}`).join(', ');

describe('a modern client and a modern server', verifies('gateway:bridge:any-replica'), () => {
  it('go through three rounds of an SDK client, each at the next gateway', async () => {
    const { balancer, url } = await startReplicas('v2');
    const speaker = await connected('v2', url);
    speaker.answers = { 'elicitation/create': answer };
    expect((await speaker.call('steps')).content).toEqual([text(said)]);
    const calls = balancer.passed.filter(({ method }) => method === 'tools/call').map(({ target }) => target);
    const [first = 0] = calls;
    expect(calls).toEqual([first, 1 - first, first, 1 - first]);
  });

  it('go through three rounds of raw requests, with the exact state of the server', async () => {
    const { balancer, url } = await startReplicas('v2');
    let round: Json = {};
    for (const step of steps) {
      const response = await send(
        url,
        modern({ method: 'tools/call', params: { name: 'steps', ...round }, capabilities }),
      );
      const { resultType, inputRequests, requestState } = response.json().result;
      expect({ status: response.status, resultType }).toEqual({ status: 200, resultType: 'input_required' });
      expect(inputRequests).toEqual({
        [step]: { method: 'elicitation/create', params: { mode: 'form', ...form(step) } },
      });
      round = { requestState, inputResponses: { [step]: answer(inputRequests[step].params) } };
    }
    const last = await send(url, modern({ method: 'tools/call', params: { name: 'steps', ...round }, capabilities }));
    expect(last.json().result).toMatchObject({ resultType: 'complete', content: [text(said)] });
    expect(balancer.passed.map(({ target }) => target)).toEqual([0, 1, 0, 1]);
  });
});

describe('a modern client and a legacy server', () => {
  it(
    'continue at any gateway if no call is pending, and the gateways share a key',
    verifies('gateway:bridge:any-replica', 'gateway:bridge:url-elicitation'),
    async () => {
      const { balancer, url } = await startReplicas('v1', shared);
      const speaker = await connected('v2', url);
      speaker.answers = { 'elicitation/create': () => ({ action: 'accept' }) };
      expect((await speaker.call('visit-first')).content).toEqual([text('welcome')]);
      const calls = balancer.passed.filter(({ method }) => method === 'tools/call').map(({ target }) => target);
      expect(new Set(calls)).toEqual(new Set([0, 1]));
    },
  );

  it.each([
    { name: 'with a key in common', settings: shared },
    { name: 'with a key for each', settings: {} },
  ])(
    'are refused by a gateway that does not hold the call, $name, and served by the one that does',
    verifies('gateway:bridge:state-sealed'),
    async ({ settings }) => {
      const { gateways, url } = await startReplicas('v1', settings);
      const call = (params: object = {}) =>
        modern({ method: 'tools/call', params: { name: 'greet', ...params }, capabilities });
      const { inputRequests, requestState } = (await send(url, call())).json().result;
      const [key = ''] = Object.keys(inputRequests);
      const retry = call({ requestState, inputResponses: { [key]: { action: 'accept', content: { name: 'Ada' } } } });
      const elsewhere = await send(url, retry);
      expect(elsewhere.json().error).toMatchObject({ code: -32602, data: { reason: 'invalid_request_state' } });
      const [holder] = gateways;
      expect((await send(holder?.url('b') ?? '', retry)).json().result.content).toEqual([text('accept Ada')]);
    },
  );
});

describe('a legacy client', verifies('gateway:legacy:session-404'), () => {
  it('gets 404 from a gateway that does not hold its session', async () => {
    const { url, gateways } = await startReplicas('v2', shared);
    const opened = await send(url, { body: initialize() });
    const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
    const refused = await send(url, { body: call, headers });
    expect({ status: refused.status, body: refused.json() }).toEqual({
      status: 404,
      body: { jsonrpc: '2.0', id: 7, error: expect.objectContaining({ code: -32001, message: 'Session not found' }) },
    });
    // It is where it was.
    expect((await send(gateways[0]?.url('b') ?? '', { body: call, headers })).status).toBe(200);
  });

  it('of the SDK fails immediately', async () => {
    const { url } = await startReplicas('v2', shared);
    await expect(connected('v1', url)).rejects.toThrow(/Session not found/);
  });
});
