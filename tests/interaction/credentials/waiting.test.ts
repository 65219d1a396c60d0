/** Calls that wait for a person: several at once, given up, of every kind, beside others that ask by themselves. */
import { describe, expect, it } from 'vitest';
import type { Audit, AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { answered } from '../backend/setup.ts';
import { type Json, open, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { done, Office } from './office.ts';

const single = { client: 'modern', door: 'single' } as const;
const accepted = { action: 'accept' };
const elicitation = { elicitation: { url: {} } };

describe('several calls of one user', verifies('gateway:credentials:asked', 'client-auth:401-triggers-flow'), () => {
  it.each(eras)('wait for one consent (%s)', async (era) => {
    const office = await Office.open({ backend: era });
    const ada = office.employee('ada');
    const pages = new Set<string>();
    let agreed: Promise<unknown> | undefined;
    const client = await office.client({ client: era, door: 'single' }, ada, async (link) => {
      pages.add(link);
      agreed ??= ada.person.agree(link, office.backend);
      await agreed;
      return 'accept';
    });
    const answers = await Promise.all(Array.from({ length: 8 }, () => client.call('work')));
    for (const answer of answers) expect(answer).toMatchObject(done);
    expect(pages.size).toBe(1);
    expect(office.backend.issuer.site.asked('/register')).toHaveLength(1);
    expect(office.backend.issuer.tokenRequests('authorization_code')).toHaveLength(1);
    expect(office.backend.inner.of('tools/call')).toHaveLength(8);
  });
});

describe('a call that was cancelled', verifies('gateway:credentials:refused'), () => {
  it('is not sent when consent is given: the client disconnected', async () => {
    const office = await Office.open({ backend: 'modern', limits: { sseAfterMs: 0 } });
    const ada = office.employee('ada');
    const params = { name: 'work', arguments: {} };
    const call = (more: object = {}) =>
      modern({
        method: 'tools/call',
        params: { ...params, ...more },
        capabilities: elicitation,
        headers: ada.credentials,
      });
    const asked = (await send(office.url('single'), call())).events.at(-1)?.json();
    const { inputRequests, requestState } = asked.result;
    const [[key = '', question] = []] = Object.entries<Json>(inputRequests);
    const waiting = await open(office.url('single'), call({ requestState, inputResponses: { [key]: accepted } }));
    waiting.close();
    // Two round trips after which the end of that connection must have been seen.
    for (let i = 0; i < 2; i++) await send(office.url('single'), { method: 'OPTIONS' });
    await ada.person.agree(question.params.url, office.backend);
    const client = await office.client(single, ada, 'never');
    expect(await client.call('work', { again: true })).toMatchObject(done);
    const calls = office.backend.inner.of('tools/call').map(({ message }) => message.params.arguments);
    expect(calls).toEqual([{ again: true }]);
  });

  it('is not sent when consent is given: the client cancelled it', async () => {
    const office = await Office.open({ backend: 'legacy' });
    const ada = office.employee('ada');
    const session = await connectLegacy(office.url('single'), { capabilities: elicitation }, ada.credentials);
    const call = { jsonrpc: '2.0', id: 'c', method: 'tools/call', params: { name: 'work', arguments: {} } };
    const stream = await session.stream(call);
    const question = await stream.message(({ method }) => method === 'elicitation/create');
    await session.post({ jsonrpc: '2.0', id: question.id, result: accepted });
    await session.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'c' } });
    expect((await ada.person.agree(question.params.url, office.backend)).status).toBe(200);
    const client = await office.client({ client: 'legacy', door: 'single' }, ada, 'never');
    expect(await client.call('work', { again: true })).toMatchObject(done);
    const calls = office.backend.inner.of('tools/call').map(({ message }) => message.params.arguments);
    expect(calls).toEqual([{ again: true }]);
  });
});

describe('a call that is continued after consent', verifies('gateway:audit:one-record'), () => {
  const rules = (id: string) => ({ policy: { rules: [{ id, effect: 'allow' }] } });
  it.each(['before the retry', 'while the retry waits'])(
    'has one record for each of its requests, with a reload %s',
    async (when) => {
      const records: AuditRecord[] = [];
      const audit: Audit = {
        write: (record) => void records.push(record),
        reserve: () => true,
        close: async () => undefined,
      };
      const office = await Office.open({ backend: 'modern', ports: { audit }, more: rules('first') });
      const ada = office.employee('ada');
      const params = { name: 'work', arguments: {} };
      const headers = ada.credentials;
      const call = (more: object = {}) =>
        modern({ method: 'tools/call', params: { ...params, ...more }, capabilities: elicitation, headers });
      const asked = answered(await send(office.url('single'), call()));
      const { inputRequests, requestState } = asked.result;
      const [[key = '', question] = []] = Object.entries<Json>(inputRequests);
      if (when === 'before the retry') office.reload(rules('second'));
      const retry = send(office.url('single'), call({ requestState, inputResponses: { [key]: accepted } }));
      if (when !== 'before the retry') {
        for (let i = 0; i < 2; i++) await send(office.url('single'), { method: 'OPTIONS' });
        office.reload(rules('second'));
      }
      await ada.person.agree(question.params.url, office.backend);
      expect(answered(await retry)).toMatchObject(done);
      // A round that is authorized again, by newer rules, has a record of its own.
      const again = when === 'before the retry' ? [] : ['asked'];
      expect(records.map(({ outcome }) => outcome)).toEqual(['asked', ...again, 'result']);
    },
  );
});

describe('a call that waits for consent when the gateway closes', verifies('gateway:credentials:refused'), () => {
  it.each(eras)('gets an error, and leaves no timer (%s)', async (era) => {
    const clock = new LeapClock();
    const office = await Office.open({ backend: era, ports: { clock } });
    const ada = office.employee('ada');
    let asked: () => void = () => undefined;
    const shown = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const client = await office.client({ client: era, door: 'single' }, ada, async () => {
      asked();
      return 'accept';
    });
    // Told where nobody can be asked, and waited for by the session all the same.
    const other = await office.client({ client: 'legacy', door: 'single' }, office.employee('bob'), 'never');
    expect((await other.call('work')).error.data.reason).toBe('consent_needed');
    const answer = client.call('work').catch((error: unknown) => error);
    await shown;
    await office.gateway.close(0);
    await answer;
    await until(() => clock.pending === 0, 'no timer is left');
  });

  it('a session that waited for a consent page releases it when it ends', async () => {
    const clock = new LeapClock();
    const office = await Office.open({ backend: 'modern', ports: { clock } });
    const client = await office.client({ client: 'legacy', door: 'merged' }, office.employee('ada'), 'never');
    await client.session?.end();
    const before = clock.pending;
    const one = await office.client({ client: 'legacy', door: 'single' }, office.employee('ada'), 'never');
    await until(() => clock.pending > before, 'something is waited for');
    await one.session?.end();
    await until(() => clock.pending <= before, 'nothing is waited for');
  });
});

describe('for every method', verifies('gateway:credentials:told'), () => {
  const requests = [
    { method: 'tools/list', params: {} },
    { method: 'tools/call', params: { name: 'work', arguments: {} } },
    { method: 'prompts/list', params: {} },
    { method: 'prompts/get', params: { name: 'p' } },
    { method: 'resources/list', params: {} },
    { method: 'resources/templates/list', params: {} },
    { method: 'resources/read', params: { uri: 'file:///a' } },
    {
      method: 'completion/complete',
      params: { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
    },
  ];

  it.each(requests)('the client gets the consent page: $method', async ({ method, params }) => {
    const office = await Office.open({ backend: 'modern' });
    const ada = office.employee('ada');
    const answer = await send(office.url('single'), modern({ method, params, headers: ada.credentials }));
    expect(answer.json().error.data).toMatchObject({ reason: 'consent_needed', backend: 'files' });
    const session = await connectLegacy(office.url('single'), {}, ada.credentials);
    const legacy = await session.post({ jsonrpc: '2.0', id: 1, method, params });
    expect(legacy.json().error).toMatchObject({ code: -32042, data: { url: answer.json().error.data.url } });
  });

  it('the client gets the consent page: subscriptions/listen', async () => {
    const office = await Office.open({ backend: 'modern' });
    const params = { notifications: { toolsListChanged: true } };
    const { credentials } = office.employee('ada');
    const answer = await send(
      office.url('single'),
      modern({ method: 'subscriptions/listen', params, headers: credentials }),
    );
    const error = answer.events.length > 0 ? answer.events.at(-1)?.json().error : answer.json().error;
    expect(error.data.reason).toBe('consent_needed');
  });

  it('discovery answers for the gateway until the backend can be spoken to', async () => {
    const office = await Office.open({ backend: 'modern' });
    const ada = office.employee('ada');
    const discover = () => send(office.url('single'), modern({ method: 'server/discover', headers: ada.credentials }));
    expect((await discover()).json().result.capabilities).toBeDefined();
    const client = await office.client(single, ada);
    expect(await client.call('work')).toMatchObject(done);
    expect((await discover()).json().result.capabilities).toMatchObject({ tools: {} });
  });
});

describe('a backend that sends input requests of its own', verifies('gateway:credentials:others-unaffected'), () => {
  it('gets its own state back, beside a backend that requires consent', async () => {
    const question = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object' } } };
    const asking = await modernBackend({
      'tools/call': (turn) => {
        const { requestState } = turn.message.params;
        if (requestState === undefined)
          turn.result({ resultType: 'input_required', inputRequests: { q: question }, requestState: 'its own' });
        else turn.result({ resultType: 'complete', content: [{ type: 'text', text: requestState }] });
      },
    });
    const office = await Office.open({ backend: 'modern', beside: { asking: { url: asking.url } } });
    const { credentials } = office.employee('ada');
    const call = (more: object = {}) =>
      modern({
        method: 'tools/call',
        params: { name: 'ask', arguments: {}, ...more },
        capabilities: { elicitation: { form: {} } },
        headers: credentials,
      });
    const url = office.gateway.url('asking');
    const { requestState } = (await send(url, call())).json().result;
    const inputResponses = { q: { action: 'accept', content: {} } };
    const answer = await send(url, call({ requestState, inputResponses }));
    expect(answer.json().result.content).toEqual([{ type: 'text', text: 'its own' }]);
    const forged = await send(url, call({ requestState: `${requestState}x`, inputResponses }));
    expect(forged.json().error.data.reason).toBe('invalid_request_state');
  });
});
