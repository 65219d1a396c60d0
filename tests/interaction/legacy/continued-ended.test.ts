/** Sessions that have ended, whatever else happened at that time: none of them is continued. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { act, ask } from '../console/setup.ts';
import { call, request, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { discovered, legacyBackend, type Turn } from '../harness/http-backend.ts';
import { FullRecords, HeldRecords } from '../harness/kept-records.ts';
import { accepting, commandOf, expectGone, openedAtFirst, restarted } from '../harness/restarted.ts';
import { modernProcess, type StdioTurn } from '../harness/stdio-backend.ts';

describe('an ended session stays ended', verifies('gateway:legacy:continued-bound'), () => {
  it('where its log level was not stored yet when it ended', async () => {
    const { gateways, client } = await openedAtFirst();
    await client.post(request(1, 'logging/setLevel', { level: 'error' }));
    expect((await client.end()).status).toBe(204);
    await gateways.start();
    await expectGone(gateways.again(client));
  });

  it('where a reload removed its backend while a request of it ran', async () => {
    const clock = new LeapClock();
    const held: Turn[] = [];
    const backend = await legacyBackend({ ...accepting, 'tools/call': (turn) => void held.push(turn) });
    const other = await legacyBackend(accepting);
    const gateways = await restarted({ backends: { b: { url: backend.url } } }, { clock });
    const client = await gateways.connect();
    const running = client.post(call(1));
    await until(() => held.length === 1, 'the call runs');
    await client.post(request(2, 'logging/setLevel', { level: 'error' }));
    gateways.gateway.reload({ backends: { c: { url: other.url } } });
    clock.leap(1000);
    held[0]?.result(text('done'));
    expect((await running).status).toBe(200);
    await expectGone(client);
    await gateways.start({ backends: { b: { url: other.url } } });
    await expectGone(gateways.again(client));
  });

  it('where the key was replaced since, and is still accepted', async () => {
    const [old, next] = ['o'.repeat(40), 'n'.repeat(40)];
    const { gateways, client } = await openedAtFirst({ seal: { key: old } });
    const other = await gateways.connect();
    await client.end();
    await gateways.start({ seal: { key: next, previous: [old] } });
    await expectGone(gateways.again(client));
    expect((await gateways.again(other).post(request(1, 'ping'))).status).toBe(200);
  });

  it('where sessions may live longer since', async () => {
    const { gateways, client } = await openedAtFirst({ limits: { sessionMaxMs: 3600_000 } });
    await client.end();
    const timeOfDay = () => Date.now() + 2 * 3600_000;
    await gateways.start({ limits: { sessionMaxMs: 24 * 3600_000 } }, { timeOfDay });
    await expectGone(gateways.again(client));
  });

  it('where the time of day was set back after its end was forgotten', async () => {
    let ahead = 0;
    const timeOfDay = () => Date.now() + ahead;
    const records = new HeldRecords(timeOfDay);
    const { gateways, client } = await openedAtFirst({ limits: { sessionMaxMs: 3600_000 } }, { timeOfDay, records });
    await client.end();
    // Its record has expired, and is removed by later writes.
    ahead = 3600_000 + 10_000;
    for (let n = 0; n < 4; n++) await (await gateways.connect()).end();
    ahead = 3600_000 - 10_000;
    await gateways.start();
    await expectGone(gateways.again(client));
  });

  it('where its client ended it while it was being continued', async () => {
    const records = new HeldRecords(Date.now);
    const discoveries: StdioTurn[] = [];
    let answers = true;
    const process = await modernProcess({
      'server/discover': (turn) => {
        if (answers) turn.result(discovered({}));
        else discoveries.push(turn);
      },
    });
    const gateways = await restarted({ backends: { p: commandOf(process) } }, { records });
    const client = await gateways.connect();
    answers = false;
    await gateways.start();
    const again = gateways.again(client);
    const continuing = again.post(request(1, 'ping'));
    await until(() => discoveries.length > 0, 'the backend is asked what it is');
    const ending = again.end();
    // What came before this has been taken.
    await send(`${gateways.gateway.origin}/healthz`, { method: 'GET' });
    answers = true;
    for (const turn of discoveries.splice(0)) turn.result(discovered({}));
    await continuing;
    expect((await ending).status).toBe(204);
    await expectGone(again);
    await gateways.start();
    await expectGone(gateways.again(client));
  });

  it('where an operator ended all sessions of its principal, and it was not used since the restart', async () => {
    const { gateways, client } = await openedAtFirst({ console: {} }, { control: true });
    const gateway = await gateways.start();
    const used = await gateways.connect();
    const { people } = await ask(gateway, '/people');
    expect((await act(gateway, '/sessions/revoke', { person: people[0].id })).body).toEqual({ ended: 1, streams: 0 });
    await expectGone(used);
    await expectGone(gateways.again(client));
    await gateways.start();
    await expectGone(gateways.again(client));
  });

  it('where its end cannot be stored at once', async () => {
    const clock = new LeapClock();
    const records = new FullRecords(Date.now);
    const { gateways, client } = await openedAtFirst({}, { records, clock });
    expect((await client.end()).status).toBe(204);
    await expectGone(client);
    for (let retry = 0; retry < 3; retry++) {
      clock.leap(5000);
      await send(`${gateways.gateway.origin}/healthz`, { method: 'GET' });
    }
    expect(gateways.gateway.log.filter(({ text: line }) => line.includes('cannot be stored'))).toHaveLength(1);
    records.isFull = false;
    await gateways.start();
    await expectGone(gateways.again(client));
  });
});
