/** Who is judged is whoever sent this very message, and what was given is given back. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { open, send } from '../harness/client.ts';
import { bearer, tokenIssuer } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { SseClient } from '../harness/sse-client.ts';
import { call, openHouse } from './setup.ts';

it(
  'over HTTP+SSE a message is decided by its own token, not by the one that opened the stream',
  verifies('gateway:policy:denied-request', 'hosting:auth:authinfo-propagates'),
  async () => {
    const issuer = await tokenIssuer();
    const house = await openHouse({
      more: {
        identity: { issuers: [{ issuer: issuer.url }] },
        policy: {
          rules: [{ id: 'staff', effect: 'allow', who: { groups: ['staff'] }, what: ['connect', 'notify', 'call'] }],
        },
      },
    });
    const url = `${house.gateway.origin}/one/sse`;
    const token = (groups: string[]) => issuer.token(`${house.gateway.origin}/one/sse`, { groups });
    const client = await SseClient.connect(url, {}, bearer(await token(['staff'])));
    expect((await client.ask(call('read_file'))).result).toBeDefined();
    client.credentials = bearer(await token(['nobody']));
    house.forget();
    expect((await client.ask({ ...call('read_file'), id: 2 })).error).toMatchObject({
      data: { reason: 'policy_denied' },
    });
    expect(house.bytes).toBe(0);
    const called = house.records.filter(({ action }) => action === 'call');
    expect(called).toMatchObject([{ decision: 'deny', principal: { subject: 'alice', issuer: issuer.url } }]);
    client.close();
  },
);

it(
  'a subscription to an unknown resource does not use up a place, and is recorded',
  verifies('gateway:policy:rate-limited'),
  async () => {
    const house = await openHouse({ more: { rates: [{ id: 'two', per: ['principal'], concurrent: 2 }] } });
    const url = `${house.gateway.origin}/mcp`;
    const listen = (id: number) =>
      modern({
        id,
        method: 'subscriptions/listen',
        params: { notifications: { resourceSubscriptions: [`nobody://has/${id}`] } },
      });
    for (const id of [1, 2, 3]) {
      const stream = await open(url, listen(id));
      await stream.message(({ method }) => method === 'notifications/subscriptions/acknowledged');
      stream.close();
    }
    const list = () => send(url, modern({ id: 9, method: 'tools/list' }));
    await expect.poll(async () => (await list()).status).toBe(200);
    expect(house.records.filter(({ action }) => action === 'subscribe').length).toBe(3);
  },
);
