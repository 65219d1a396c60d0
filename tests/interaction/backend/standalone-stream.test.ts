/**
 * The standalone stream of a legacy backend over Streamable HTTP (2025-11-25, basic/transports, "Listening for Messages
 * from the Server"): lost for longer than any attempt lasts, or ended again and again, and back.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { enter, heard, namesOf, openMarket } from '../catalog/setup.ts';
import { openShop, resource, type Shop, tool } from '../catalog/shop.ts';
import { type OpenAnswer, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';
import type { TestGateway } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';

const toolsChanged = 'notifications/tools/list_changed';
const updated = 'notifications/resources/updated';
const TEN_MINUTES_MS = 600_000;

/** What the backend does with a GET while its stream is out of order. */
const troubles = [
  { name: 'answers 503', act: (turn: Turn) => turn.raw(503, {}) },
  { name: 'cuts the connection', act: (turn: Turn) => turn.cut() },
  { name: 'ends each stream at once', act: (turn: Turn) => turn.stream().end() },
  {
    name: 'ends each stream immediately and sets retry to 0',
    act: (turn: Turn) => turn.stream().bytes('retry: 0\n\n').end(),
  },
] as const;

interface Outage {
  readonly shop: Shop;
  readonly gateway: TestGateway;
  readonly clock: LeapClock;
  /** Ten minutes in which the stream cannot be had. Calls work. */
  begin(trouble: (turn: Turn) => void): Promise<void>;
  /** The backend serves its stream again, and the gateway has opened it. */
  end(): Promise<void>;
}

async function withOutage(): Promise<Outage> {
  const clock = new LeapClock();
  const streams: Turn[] = [];
  let trouble: ((turn: Turn) => void) | undefined;
  const shop = await openShop('legacy', 'l', { tools: [tool('t')], resources: [resource('l://r')] });
  const other = await openShop('modern', 'm', { tools: [tool('t')], ttlMs: TEN_MINUTES_MS });
  const serve = shop.standing;
  shop.standing = (turn) => {
    if (trouble !== undefined) trouble(turn);
    else {
      streams.push(turn);
      serve(turn);
    }
  };
  const gateway = await openMarket([shop, other], { ports: { clock } });
  const gets = () => shop.backend.received.filter(({ http }) => http === 'GET').length;
  return {
    shop,
    gateway,
    clock,
    begin: async (how) => {
      await until(() => streams.length > 0, 'a stream stands');
      trouble = how;
      for (const stream of streams.splice(0)) stream.cut();
      const end = clock.now() + TEN_MINUTES_MS;
      await until(() => {
        clock.leap(5_000);
        return clock.now() >= end;
      }, 'ten minutes are over');
      // Bounded: neither given up nor asked in a tight loop.
      expect(gets()).toBeGreaterThan(15);
      expect(gets()).toBeLessThan(TEN_MINUTES_MS / 500);
    },
    end: async () => {
      trouble = undefined;
      await until(() => {
        if (streams.length === 0) clock.leap(1_000);
        return streams.length > 0;
      }, 'the stream is open again');
      // Until nobody doubts that it stands.
      await until(() => {
        clock.leap(5_000);
        return logged(gateway, 'event stream is back') > 0;
      }, 'the stream is back');
    },
  };
}

const logged = ({ log }: TestGateway, text: string) => log.filter((entry) => entry.text.includes(text)).length;

const methodsOf = (stream: OpenAnswer) => stream.events.flatMap(({ data, json }) => (data ? [json().method] : []));

describe.each(troubles)('a backend that $name for ten minutes', ({ act }) => {
  describe.each([
    { where: 'its own endpoint', name: 'l', tools: ['t'] },
    { where: 'a merged endpoint', name: undefined, tools: ['l__t', 'm__t'] },
  ])('at $where', ({ name, tools }) => {
    it(
      'is read again by a legacy session, which is notified of possibly missed changes',
      verifies('gateway:backend:stream-never-given-up'),
      async () => {
        const outage = await withOutage();
        const { shop, gateway, clock } = outage;
        const guest = await enter('legacy', gateway.url(name));
        const stream = await guest.listen({ resourceSubscriptions: ['l://r'] });
        await outage.begin(act);
        expect(heard(stream, toolsChanged)).toEqual([]);
        await outage.end();
        await stream.message(({ method }) => method === toolsChanged);
        await stream.message(({ method, params }) => method === updated && params.uri === 'l://r');
        clock.leap(TEN_MINUTES_MS);
        const before = heard(stream, toolsChanged).length;
        await shop.changed('tools');
        await until(() => heard(stream, toolsChanged).length > before, 'a change is heard');
        expect(namesOf(await guest.all('tools/list'))).toEqual(tools);
        expect([logged(gateway, 'event stream is lost'), logged(gateway, 'event stream is back')]).toEqual([1, 1]);
      },
    );
  });

  it(
    'at its own endpoint ends the subscription of a modern client by name, and accepts the next one after recovery',
    verifies('gateway:backend:stream-never-given-up'),
    async () => {
      const outage = await withOutage();
      const { shop, gateway } = outage;
      const guest = await enter('modern', gateway.url('l'));
      const filter = { toolsListChanged: true, resourceSubscriptions: ['l://r'] };
      const stream = await guest.listen(filter);
      await outage.begin(act);
      await stream.ended;
      const { error } = stream.events.at(-1)?.json() ?? {};
      expect(error.data.reason).toBe('backend_unavailable');
      const listen = modern({ method: 'subscriptions/listen', params: { notifications: filter } });
      expect((await send(gateway.url('l'), listen)).body).toContain('"reason":"backend_unavailable"');
      await outage.end();
      const again = await guest.listen(filter);
      expect(heard(again, 'notifications/subscriptions/acknowledged')[0].params.notifications).toEqual(filter);
      await shop.changed('tools');
      await again.message(({ method }) => method === toolsChanged);
      await shop.updated('l://r');
      await again.message(({ method }) => method === updated);
    },
  );

  it(
    'at a merged endpoint is read anew, and the subscription of a modern client is notified after recovery',
    verifies('gateway:backend:stream-never-given-up'),
    async () => {
      const outage = await withOutage();
      const { shop, gateway, clock } = outage;
      const guest = await enter('modern', gateway.url());
      const stream = await guest.listen({ toolsListChanged: true, resourceSubscriptions: ['l://r'] });
      await guest.all('tools/list');
      await outage.begin(act);
      const read = shop.count('tools/list');
      shop.goods.tools = [tool('u')];
      expect(namesOf(await guest.all('tools/list'))).toEqual(['l__u', 'm__t']);
      expect(shop.count('tools/list')).toBe(read + 1);
      // What is read while nothing is heard is good for a short time only.
      shop.goods.tools = [tool('v')];
      clock.leap(6_000);
      expect(namesOf(await guest.all('tools/list'))).toEqual(['l__v', 'm__t']);
      await outage.end();
      await stream.message(({ method }) => method === toolsChanged);
      await stream.message(({ method }) => method === updated);
      expect(methodsOf(stream)[0]).toBe('notifications/subscriptions/acknowledged');
      expect(stream.over).toBe(false);
    },
  );
});

describe('a backend without a standalone stream', verifies('gateway:backend:stream-none'), () => {
  it('acknowledges no subscription that it could not notify', async () => {
    const script = { GET: (turn: Turn) => turn.raw(405, { allow: 'POST' }) };
    const shop = await openShop('legacy', 'l', { tools: [tool('t')], resources: [resource('l://r')], script });
    const gateway = await openMarket([shop]);
    const guest = await enter('modern', gateway.url('l'));
    const stream = await guest.listen({ toolsListChanged: true, resourceSubscriptions: ['l://r'] });
    expect(heard(stream, 'notifications/subscriptions/acknowledged')[0].params.notifications).toEqual({});
    expect(shop.count('resources/subscribe')).toBe(0);
  });
});
