/** Sessions that are continued while something else happens to them, or while something they need is missing. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, echo, notification, request, result, text } from '../harness/behind.ts';
import { until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Turn } from '../harness/http-backend.ts';
import { HeldRecords } from '../harness/kept-records.ts';
import { accepting, directory, expectGone, openedAtFirst, restarted } from '../harness/restarted.ts';

describe('a session is continued', verifies('gateway:legacy:continued'), () => {
  it('by the next request, where its backend was not there for the first', async () => {
    const clock = new LeapClock();
    const { backend, gateways, client } = await openedAtFirst({}, { clock });
    await gateways.start();
    await backend.close();
    const again = gateways.again(client);
    expect((await again.post(call(1))).json().error).toBeDefined();
    await backend.reopen();
    clock.leap(60_000);
    let answer = await again.post(call(2, { n: 2 }));
    while (answer.json().error?.data.reason === 'backend_unavailable') answer = await again.post(call(2, { n: 2 }));
    expect(answer.json()).toEqual(result(2, text('{"n":2}')));
  });

  it('with more subscriptions than requests may be in flight, and without harm to its first request', async () => {
    const clock = new LeapClock();
    const { backend, gateways, client } = await openedAtFirst({ limits: { inFlightPerSession: 2 } }, { clock });
    for (let n = 0; n < 5; n++) await client.post(request(n, 'resources/subscribe', { uri: `file:///${n}` }));
    await gateways.start();
    backend.forget();
    expect((await gateways.again(client).post(call(9, { n: 9 }))).json()).toEqual(result(9, text('{"n":9}')));
    await until(() => backend.of('resources/subscribe').length === 5, 'all are subscribed again');
  });

  it('where its client says much of itself, and not where it says too much for a header', async () => {
    const { gateways } = await openedAtFirst();
    const saying = (bytes: number) => ({ capabilities: { experimental: { x: { much: 'a'.repeat(bytes) } } } });
    const [much, tooMuch] = [await gateways.connect(saying(1800)), await gateways.connect(saying(2100))];
    expect((await tooMuch.post(request(1, 'ping'))).status).toBe(200);
    await gateways.start();
    expect((await gateways.again(much).post(request(1, 'ping'))).status).toBe(200);
    await expectGone(gateways.again(tooMuch));
  });

  it('and counts once against the limit, however often it is tried', async () => {
    const { gateways, client } = await openedAtFirst({ limits: { sessionsPerPrincipal: 2 } });
    await gateways.start();
    const again = gateways.again(client);
    await Promise.all(Array.from({ length: 10 }, (_, n) => again.post(call(n))));
    const second = await gateways.connect();
    await second.end();
    await (await gateways.connect()).end();
    await again.end();
    for (let n = 0; n < 5; n++) await again.post(request(n, 'ping'));
    await gateways.connect();
    await gateways.connect();
    await expect(gateways.connect()).rejects.toThrow('too_many');
  });
});

describe('while a session is being continued', verifies('gateway:legacy:continued'), () => {
  it('a shutdown waits for the request, or refuses it as such', async () => {
    const records = new HeldRecords(Date.now);
    const { gateways, client } = await openedAtFirst({}, { records });
    await gateways.start();
    records.holds = true;
    const answering = gateways.again(client).post(call(1, { n: 1 }));
    await until(() => records.waiting > 0, 'the store is asked');
    const closing = gateways.gateway.close(5000);
    records.release();
    const answer = await answering;
    expect(answer.status === 503 || answer.json().result !== undefined).toBe(true);
    await closing;
  });

  it('a message that arrives during a shutdown does not continue it', async () => {
    const held: Turn[] = [];
    const backend = await legacyBackend({ ...accepting, 'tools/call': (turn) => void held.push(turn) });
    const gateways = await restarted({ backends: { b: { url: backend.url } } });
    const [client, busy] = [await gateways.connect(), await gateways.connect()];
    await gateways.start();
    const running = gateways.again(busy).post(call(1));
    await until(() => held.length === 1, 'the call runs');
    const closing = gateways.gateway.close(5000);
    await gateways.again(client).post(notification('notifications/cancelled', { requestId: 7 }));
    expect(gateways.gateway.counters.snapshot()['session.continued']).toBe(1);
    held[0]?.result(text('done'));
    await running;
    await closing;
  });

  it('a reload that removes its endpoint ends it', async () => {
    const records = new HeldRecords(Date.now);
    const backend = await legacyBackend(accepting);
    const config = { backends: { b: { url: backend.url } } };
    const paths = (...names: string[]) => ({ ...config, endpoints: names.map((path) => ({ path, backends: ['b'] })) });
    const gateways = await restarted(paths('/a', '/b'), { records });
    const client = await connectLegacy(`${gateways.gateway.origin}/a`);
    await gateways.start();
    records.holds = true;
    const answering = gateways.again(client, '/a').post(request(1, 'ping'));
    await until(() => records.waiting > 0, 'the store is asked');
    gateways.gateway.reload(paths('/b'));
    records.release();
    expect((await answering).status).toBe(404);
    expect(gateways.gateway.assembled.shared.sessions.size).toBe(0);
  });
});

describe('a session is not continued', verifies('gateway:legacy:continued-bound'), () => {
  it('where a process cannot be started to see whether it keeps state', async () => {
    const backend = await modernBackend(echo);
    const backends = { b: { url: backend.url }, broken: { command: '/nowhere/at/all' } };
    const gateways = await restarted({ backends });
    const client = await gateways.connect();
    await gateways.start();
    await expectGone(gateways.again(client));
  });
});

describe('without a store that can be written', verifies('gateway:legacy:continued-bound'), () => {
  it('sessions work and end with the process', async () => {
    const file = join(directory(), 'file');
    writeFileSync(file, '');
    const { gateways, client } = await openedAtFirst({ store: { dir: join(file, 'state') } });
    expect((await client.post(request(1, 'ping'))).status).toBe(200);
    expect((await client.end()).status).toBe(204);
    const other = await gateways.connect();
    await gateways.start();
    await expectGone(gateways.again(other));
  });

  it('a key that other users can read is not used, and a warning says so once', async () => {
    const dir = directory();
    const { gateways } = await openedAtFirst({ store: { dir } });
    chmodSync(join(dir, 'key'), 0o644);
    const gateway = await gateways.start();
    for (let n = 0; n < 3; n++) expect((await (await gateways.connect()).end()).status).toBe(204);
    expect(gateway.log.filter(({ level }) => level === 'warn')).toHaveLength(1);
  });
});
