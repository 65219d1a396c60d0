/**
 * Policy that changes while the program runs: each request, and each round of a call, is decided by the one of its
 * moment.
 */
import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../../src/observe/audit.ts';
import { verifies } from '../../requirements/verifies.ts';
import { enter, heard, namesOf } from '../catalog/setup.ts';
import { openShop, resource, tool } from '../catalog/shop.ts';
import { Held, text } from '../harness/behind.ts';
import { type Json, send, until } from '../harness/client.ts';
import { connectLegacy, eras, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { call, legacyWays, named, openHouse, ways } from '../policy/setup.ts';

const allowing = (...tools: string[]) => ({
  rules: [{ id: 'only', effect: 'allow', what: ['call'], on: { tools } }],
});
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } };
const capabilities = { elicitation: {} };

describe('the next request', verifies('gateway:reload:policy'), () => {
  it.each(ways)('over $name is decided by the new policy, and its record says so', async ({ enter: come, where }) => {
    const policyFor = (name: string) => ({ policy: allowing(named(where, name)) });
    const house = await openHouse({ more: policyFor('read_file') });
    const client = await come(house);
    const ask = async (name: string) => (await client.ask(call(named(where, name)))).error?.data?.reason ?? 'answered';
    expect([await ask('read_file'), await ask('delete_file')]).toEqual(['answered', 'policy_denied']);
    house.records.length = 0;
    house.reload(policyFor('delete_file'));
    expect([await ask('read_file'), await ask('delete_file')]).toEqual(['policy_denied', 'answered']);
    await until(() => house.records.length === 2, 'both were recorded');
    expect(house.records.map(({ generation }) => generation)).toEqual([2, 2]);
  });

  it.each(legacyWays)('over $name is denied where there was no policy before', async ({ enter: come, where }) => {
    const house = await openHouse();
    const client = await come(house);
    const message = call(named(where, 'read_file'));
    expect((await client.ask(message)).result).toBeDefined();
    house.reload({ policy: { rules: [] } });
    expect((await client.ask(message)).error.data.reason).toBe('policy_denied');
  });
});

describe.each(eras)('lists of a %s client', verifies('gateway:reload:policy'), (era) => {
  it.each(['/mcp', '/servers/a/mcp'])('at %s change with the policy, and the client is notified', async (path) => {
    const [a, b] = await Promise.all(
      ['a', 'b'].map((name) => openShop('modern', name, { tools: [tool('one'), tool('two')] })),
    );
    if (a === undefined || b === undefined) throw new Error('no shops');
    const backends = { a: { url: a.backend.url }, b: { url: b.backend.url } };
    const gateway = await startGateway({ backends, policy: allowing('*one') });
    const guest = await enter(era, `${gateway.origin}${path}`);
    const stream = await guest.listen({ toolsListChanged: true });
    const all = async () => namesOf(await guest.all('tools/list')).filter((name) => !name.startsWith('b__'));
    expect(await all()).toEqual([path === '/mcp' ? 'a__one' : 'one']);
    gateway.reload({ backends, policy: allowing('*two') });
    await until(() => heard(stream, 'notifications/tools/list_changed').length > 0, 'the change was told');
    expect(await all()).toEqual([path === '/mcp' ? 'a__two' : 'two']);
  });
});

describe.each(eras)('subscriptions of a %s client', verifies('gateway:reload:policy'), (era) => {
  const places = eras.flatMap((behind) => ['/mcp', '/servers/a/mcp'].map((path) => ({ behind, path })));

  it.each(places)('get no update that it may no longer read, at $path of $behind backends', async (place) => {
    const uris = ['note:open', 'note:secret'];
    const shops = ['a', 'b'].map((name) =>
      openShop(place.behind, name, { resources: name === 'a' ? uris.map((uri) => resource(uri)) : [] }),
    );
    const [a, b] = await Promise.all(shops);
    if (a === undefined || b === undefined) throw new Error('no shops');
    const reading = (...uris: string[]) => ({
      backends: { a: { url: a.backend.url }, b: { url: b.backend.url } },
      policy: { rules: [{ id: 'some', effect: 'allow', what: ['read', 'subscribe'], on: { uris } }] },
    });
    const gateway = await startGateway(reading('note:*'));
    const guest = await enter(era, `${gateway.origin}${place.path}`);
    const stream = await guest.listen({ resourceSubscriptions: uris });
    if (era === 'legacy') for (const uri of uris) await guest.ask('resources/subscribe', { uri });
    const told = () =>
      heard(stream, 'notifications/resources/updated').map(({ params }) => String(params.uri).replace(/^.*note:/, ''));
    for (const uri of uris) await a.updated(uri);
    await until(() => told().length === 2, 'both changes were told');
    gateway.reload(reading('note:open'));
    for (const uri of [...uris].reverse()) await a.updated(uri);
    await until(() => told().length > 2, 'the change of the open one was told');
    expect(told()).toEqual(['open', 'secret', 'open']);
  });
});

describe.each(eras)('a resource that two backends have', verifies('gateway:reload:policy'), (era) => {
  it.each(eras)('is judged by the address that the endpoint lists, with %s backends', async (behind) => {
    const uri = 'note:x';
    const shops = await Promise.all(['a', 'b'].map((name) => openShop(behind, name, { resources: [resource(uri)] })));
    const [a, b] = shops;
    if (a === undefined || b === undefined) throw new Error('no shops');
    const reading = (...uris: string[]) => ({
      backends: { a: { url: a.backend.url }, b: { url: b.backend.url } },
      policy: { rules: [{ id: 'some', effect: 'allow', what: ['read', 'subscribe'], on: { uris } }] },
    });
    const gateway = await startGateway(reading('**'));
    const guest = await enter(era, gateway.url());
    const listed = (await guest.all('resources/list')).map(({ uri: address }) => String(address));
    expect(listed).toHaveLength(2);
    const [ofA = '', ofB = ''] = listed;
    const stream = await guest.listen({ resourceSubscriptions: listed });
    if (era === 'legacy') for (const address of listed) await guest.ask('resources/subscribe', { uri: address });
    const told = () => heard(stream, 'notifications/resources/updated').map(({ params }) => params.uri);
    gateway.reload(reading(ofB));
    await a.updated(uri);
    await b.updated(uri);
    await until(() => told().length > 0, 'one change was told');
    gateway.reload(reading(ofA));
    await b.updated(uri);
    await a.updated(uri);
    await until(() => told().length > 1, 'another one was told');
    expect(told()).toEqual([ofB, ofA]);
  });
});

describe('a call that waits for its client', verifies('gateway:reload:policy'), () => {
  it('is ended by the policy of the next round: a pending call of a legacy backend', async () => {
    const calls = new Held();
    const answers: Json[] = [];
    const backend = await legacyBackend({
      'tools/call': (turn) => {
        calls.take(turn);
        turn.stream().event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form });
      },
      POST: (turn) => {
        turn.raw(202, {});
        answers.push(turn.message);
      },
    });
    const backends = { b: { url: backend.url } };
    const gateway = await startGateway({ backends, policy: allowing('greet') });
    const params = { name: 'greet', arguments: {} };
    const first = await send(gateway.url('b'), modern({ method: 'tools/call', params, capabilities }));
    const { requestState } = first.json().result;
    gateway.reload({ backends, policy: allowing('other') });
    const inputResponses = { 'ask-1': { action: 'accept', content: { name: 'Ada' } } };
    const again = { ...params, inputResponses, requestState };
    const retry = await send(gateway.url('b'), modern({ method: 'tools/call', params: again, capabilities }));
    expect(retry.json().error.data.reason).toBe('policy_denied');
    await (await calls.nth(1)).closed;
    expect(answers.filter(({ result }) => result !== undefined)).toEqual([]);
  });

  it('is ended by the policy of the next round: one that the gateway drives for a legacy client', async () => {
    const rounds: Json[] = [];
    const backend = await modernBackend({
      'tools/call': (turn) => {
        rounds.push(turn.message);
        turn.result({
          resultType: 'input_required',
          inputRequests: { q: { method: 'elicitation/create', params: form } },
          requestState: 'state',
        });
      },
    });
    const records: AuditRecord[] = [];
    const audit = { write: (record: AuditRecord) => void records.push(record), close: async () => undefined };
    const backends = { b: { url: backend.url } };
    const gateway = await startGateway({ backends, policy: allowing('greet') }, { audit });
    const client = await connectLegacy(gateway.url('b'), { capabilities });
    records.length = 0;
    const stream = await client.stream(call('greet'));
    const question = await stream.message(({ method }) => method === 'elicitation/create');
    gateway.reload({ backends, policy: allowing('other') });
    await client.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ada' } } });
    const { error } = await stream.message(({ id, method }) => id === 1 && method === undefined);
    expect(error.data.reason).toBe('policy_denied');
    expect(rounds).toHaveLength(1);
    const calls = records.filter(({ action }) => action === 'call');
    expect(calls.map(({ decision, outcome, generation }) => ({ decision, outcome, generation }))).toEqual([
      { decision: 'allow', outcome: 'asked', generation: 1 },
      { decision: 'deny', outcome: 'denied', generation: 2 },
    ]);
  });

  it('is ended by the policy of the next round, also where there was no policy before', async () => {
    const rounds = new Held();
    const backend = await modernBackend({
      'tools/call': (turn) => {
        rounds.take(turn);
        const inputRequests = { q: { method: 'elicitation/create', params: form } };
        turn.result({ resultType: 'input_required', inputRequests, requestState: 'state' });
      },
    });
    const backends = { b: { url: backend.url } };
    const gateway = await startGateway({ backends });
    const client = await connectLegacy(gateway.url('b'), { capabilities });
    const stream = await client.stream(call('greet'));
    const question = await stream.message(({ method }) => method === 'elicitation/create');
    gateway.reload({ backends, policy: allowing('other') });
    await client.post({ jsonrpc: '2.0', id: question.id, result: { action: 'accept', content: { name: 'Ada' } } });
    const { error } = await stream.message(({ id, method }) => id === 1 && method === undefined);
    expect(error.data.reason).toBe('policy_denied');
    expect(rounds.turns).toHaveLength(1);
  });

  it('may send no more server requests if they are denied since', async () => {
    const calls = new Held();
    const answers: Json[] = [];
    const script: Script = {
      'tools/call': (turn) => {
        calls.take(turn);
        turn.stream();
      },
      POST: (turn) => {
        turn.raw(202, {});
        answers.push(turn.message);
      },
    };
    const backend = await legacyBackend(script);
    const backends = { b: { url: backend.url } };
    const gateway = await startGateway({ backends });
    const client = await connectLegacy(gateway.url('b'), { capabilities });
    const answer = client.post(call('greet'));
    const turn = await calls.nth(1);
    const rules = [
      { id: 'all', effect: 'allow' },
      { id: 'silent', effect: 'deny', what: ['ask'] },
    ];
    gateway.reload({ backends, policy: { rules } });
    turn.event({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: form });
    await until(() => answers.length > 0, 'the backend was answered');
    expect(answers[0]).toMatchObject({ id: 'q', error: {} });
    turn.event({ jsonrpc: '2.0', id: turn.message.id, result: text('done') }).end();
    expect((await answer).body).toContain('done');
  });
});

describe('rates', verifies('gateway:reload:policy'), () => {
  it('continue with the counts from before', async () => {
    const backend = await modernBackend({
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('') }),
    });
    const backends = { b: { url: backend.url } };
    const rates = [{ id: 'twice', per: ['principal'], what: ['call'], perSecond: 0.01, burst: 2 }];
    const gateway = await startGateway({ backends, rates });
    const ask = async () => (await send(gateway.url('b'), modern(call('t')))).status;
    expect(await ask()).toBe(200);
    gateway.reload({ backends, rates, policy: { rules: [{ id: 'all', effect: 'allow' }] } });
    expect([await ask(), await ask()]).toEqual([200, 429]);
  });
});

describe('a config that is broken', verifies('gateway:reload:broken'), () => {
  it('changes nothing, and the log says where and why', async () => {
    const backend = await modernBackend({
      'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('') }),
    });
    const backends = { b: { url: backend.url } };
    const gateway = await startGateway({ backends, policy: allowing('t') });
    gateway.reload({ backends, policy: { rules: [{ id: 'x', effect: 'maybe' }] } });
    expect(gateway.log.find(({ level }) => level === 'error')?.text).toMatch(
      /^config not reloaded, the old one stays in force: bascule\.yaml:1:\d+: /,
    );
    expect((await send(gateway.url('b'), modern(call('t')))).status).toBe(200);
    expect(gateway.assembled.config.generation).toBe(1);
    gateway.reload({ backends, policy: allowing('u') });
    expect(gateway.assembled.config.generation).toBe(2);
  });

  it('is also one that would open the current listen address to the network', async () => {
    const backend = await modernBackend();
    const backends = { b: { url: backend.url } };
    const guarded = { backends, listen: { host: '0.0.0.0' }, identity: { keys: { file: '/nonexistent/keys.json' } } };
    const gateway = await startGateway({ ...guarded, limits: {} });
    gateway.reload({ backends, listen: { host: '127.0.0.1' } });
    expect(gateway.log.find(({ level }) => level === 'error')?.text).toContain('the gateway listens on 0.0.0.0');
    expect(gateway.assembled.config.generation).toBe(1);
  });

  it('lists the settings that need a restart, and applies the rest', async () => {
    const backend = await modernBackend();
    const backends = { b: { url: backend.url } };
    const gateway = await startGateway({ backends });
    gateway.reload({ backends, limits: { askMs: 1000 }, policy: allowing('t') });
    expect(gateway.log.filter(({ level }) => level === 'warn').map(({ text: said }) => said)).toEqual([
      'these settings need a restart: limits.askMs',
    ]);
    expect(gateway.log.at(-1)?.text).toBe('config reloaded, generation 2: policy changed');
  });
});
