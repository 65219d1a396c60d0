/** A backend that is down, slow or broken costs what it has itself, and nothing else. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { eras } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { enter, eventually, type Guest, heard, namesOf, openMarket, signature } from './setup.ts';
import { openShop, type Shop, tool } from './shop.ts';

const changed = 'notifications/tools/list_changed';
const partial = (page: Json) => page._meta?.['bascule/partial'];

/** What is due within a while happens, again and again, until it is so. */
async function leapUntil(clock: LeapClock, isSo: () => boolean, what: string): Promise<void> {
  await until(() => {
    if (isSo()) return true;
    clock.leap(1000);
    return false;
  }, what);
}

const broken: readonly { name: string; script: Script; reason: string }[] = [
  {
    name: 'nonsense',
    script: { 'tools/list': (turn) => turn.raw(200, { 'content-type': 'application/json' }, 'nonsense') },
    reason: 'backend_invalid',
  },
  {
    name: 'a page',
    script: { 'tools/list': (turn) => turn.raw(500, { 'content-type': 'text/html' }, '<h1>Oops</h1>') },
    reason: 'backend_unavailable',
  },
  {
    name: 'no list',
    script: { 'tools/list': (turn) => turn.result({ resultType: 'complete', tools: 7 }) },
    reason: 'backend_invalid',
  },
  {
    name: 'an error',
    script: { 'tools/list': (turn) => turn.error(-32000, 'Out of order') },
    reason: 'backend_invalid',
  },
  { name: 'a connection that is cut', script: { 'tools/list': (turn) => turn.cut() }, reason: 'backend_unavailable' },
];

describe.each(eras)('for a %s client', (era) => {
  describe.each(eras)('and a %s backend', (own) => {
    it.each(broken)(
      'a list with one part $name has all other parts, and reports the missing one',
      verifies('gateway:catalog:partial'),
      async ({ script, reason }) => {
        const shops = [await openShop(own, 'bad', { script }), await openShop(own, 'good', { tools: [tool('t')] })];
        const guest = await enter(era, (await openMarket(shops)).url());
        const [page] = await guest.pages('tools/list');
        expect(namesOf(page.tools)).toEqual(['good__t']);
        expect(partial(page)).toEqual([{ backend: 'bad', reason }]);
      },
    );

    it(
      'a backend that is down from the start hides only its own entries',
      verifies('gateway:catalog:partial', 'gateway:catalog:failure-local'),
      async () => {
        const [bad, good] = await couple(own);
        await bad.backend.close();
        const guest = await enter(era, (await openMarket([bad, good])).url());
        const [page] = await guest.pages('tools/list');
        expect(namesOf(page.tools)).toEqual(['good__t']);
        expect(partial(page)).toEqual([{ backend: 'bad', reason: 'backend_unavailable' }]);
        expect((await guest.ask('tools/call', { name: 'bad__t' })).error).toMatchObject({
          code: -32603,
          data: { reason: 'backend_unavailable' },
        });
        expect(signature(await guest.ask('tools/call', { name: 'good__t' }))).toMatch(/^good: /);
      },
    );

    it(
      'one that never answers is waited for no longer than the limit',
      verifies('gateway:catalog:partial'),
      async () => {
        const clock = new LeapClock();
        const shops = [
          await openShop(own, 'mute', { script: { 'tools/list': () => undefined } }),
          await openShop(own, 'good', { tools: [tool('t')] }),
        ];
        const guest = await enter(
          era,
          (await openMarket(shops, { limits: { listWaitMs: 60_000 }, ports: { clock } })).url(),
        );
        const asking = guest.pages('tools/list');
        await shops[0]!.backend.arrival('tools/list');
        await shops[1]!.backend.arrival('tools/list');
        // Reading goes on beside the wait: the other one's list is there by now, or will be.
        let page: Json;
        void asking.then(([first]) => {
          page = first;
        });
        await until(() => {
          if (page === undefined) clock.leap(20_000);
          return page !== undefined;
        }, 'the list is there');
        expect(partial(page)).toContainEqual({ backend: 'mute', reason: 'backend_timeout' });
      },
    );

    it(
      'the tools of a backend that goes down disappear, and return with it, for open sessions',
      verifies('gateway:catalog:backend-recovers', 'gateway:catalog:failure-local'),
      async () => {
        const clock = new LeapClock();
        const [bad, good] = await couple(own);
        const gateway = await openMarket([bad, good], { ports: { clock } });
        const guest = await enter(era, gateway.url());
        expect(namesOf(await guest.all('tools/list'))).toEqual(['bad__t', 'good__t']);
        const stream = await guest.listen({ toolsListChanged: true });
        await until(() => bad.ears > 0, 'the gateway listens');
        const told = () => heard(stream, changed).length;

        await bad.backend.close();
        // Somebody has to notice.
        expect((await guest.ask('tools/call', { name: 'bad__t' })).error).toMatchObject({ code: -32603 });
        await leapUntil(clock, () => told() > 0, 'the client hears that the tools are gone');
        expect(await state(guest)).toEqual({
          names: ['good__t'],
          partial: [{ backend: 'bad', reason: 'backend_unavailable' }],
        });
        const { error } = await guest.ask('tools/call', { name: 'bad__t' });
        expect(error).toMatchObject({
          code: -32603,
          data: { reason: 'backend_unavailable', retryAfterMs: expect.any(Number) },
        });
        expect(signature(await guest.ask('tools/call', { name: 'good__t' }))).toMatch(/^good: /);

        const before = told();
        await bad.backend.reopen();
        await leapUntil(clock, () => told() > before, 'the client hears that they are back');
        // What was told may still have been that they went.
        await eventually(async () => {
          clock.leap(100);
          return (await state(guest)).partial === undefined;
        });
        expect(await state(guest)).toEqual({ names: ['bad__t', 'good__t'], partial: undefined });
        expect(signature(await guest.ask('tools/call', { name: 'bad__t' }))).toMatch(/^bad: /);
      },
    );

    it('a call in flight at another backend is not disturbed', verifies('gateway:catalog:failure-local'), async () => {
      const answers: (() => void)[] = [];
      const bad = await openShop(own, 'bad', { tools: [tool('t')], script: { 'tools/call': () => undefined } });
      const good = await openShop(own, 'good', {
        tools: [tool('t')],
        script: {
          'tools/call': (turn) =>
            void answers.push(() =>
              turn.result({ resultType: 'complete', content: [{ type: 'text', text: 'good: done' }] }),
            ),
        },
      });
      const guest = await enter(era, (await openMarket([bad, good])).url());
      const lost = guest.ask('tools/call', { name: 'bad__t' });
      const kept = guest.ask('tools/call', { name: 'good__t' });
      await bad.backend.arrival('tools/call');
      await good.backend.arrival('tools/call');
      await bad.backend.close();
      expect((await lost).error).toMatchObject({ code: -32603, data: { reason: 'backend_unavailable' } });
      for (const answer of answers) answer();
      expect(signature(await kept)).toBe('good: done');
    });
  });
});

it('an endless list does not affect other backends', verifies('gateway:catalog:partial'), async () => {
  const endless: Script = {
    'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [], nextCursor: 'again' }),
  };
  const shops = [
    await openShop('modern', 'endless', { script: endless }),
    await openShop('modern', 'good', { tools: [tool('t')] }),
  ];
  const guest = await enter('modern', (await openMarket(shops)).url());
  expect(await state(guest)).toEqual({
    names: ['good__t'],
    partial: [{ backend: 'endless', reason: 'backend_invalid' }],
  });
});

it.each(eras)(
  'an overdue list is waited for only once (%s client)',
  verifies('gateway:catalog:failure-local'),
  async (era) => {
    const clock = new LeapClock();
    const mute = await openShop('modern', 'mute', { script: { 'tools/list': () => undefined } });
    const good = await openShop('modern', 'good', { tools: [tool('t')], ttlMs: 600_000 });
    const gateway = await openMarket([mute, good], { limits: { listWaitMs: 60_000 }, ports: { clock } });
    const guest = await enter(era, gateway.url());
    const first = state(guest);
    await mute.backend.arrival('tools/list');
    await good.backend.arrival('tools/list');
    clock.leap(60_000);
    await first;
    // Nothing moves the clock any more.
    expect(await state(guest)).toEqual({
      names: ['good__t'],
      partial: [{ backend: 'mute', reason: 'backend_timeout' }],
    });
    expect(mute.count('tools/list')).toBe(1);
  },
);

it(
  'a name that two backends share is not reassigned while one of them is down',
  verifies('gateway:catalog:failure-local'),
  async () => {
    const clock = new LeapClock();
    const [bad, good] = await couple('modern');
    const gateway = await openMarket([bad, good], { endpoint: { names: 'collision' }, ports: { clock } });
    const guest = await enter('modern', gateway.url());
    expect(namesOf(await guest.all('tools/list'))).toEqual(['bad__t', 'good__t']);
    await bad.backend.close();
    await leapUntil(
      clock,
      () => gateway.assembled.backends.get('bad')?.state.state === 'down',
      'it is known to be down',
    );
    expect(await state(guest)).toEqual({
      names: ['good__t'],
      partial: [{ backend: 'bad', reason: 'backend_unavailable' }],
    });
    expect((await guest.ask('tools/call', { name: 't' })).error).toMatchObject({ code: -32602 });
  },
);

function couple(era: Shop['era']): Promise<[Shop, Shop]> {
  return Promise.all([
    openShop(era, 'bad', { tools: [tool('t')], ttlMs: 60_000 }),
    openShop(era, 'good', { tools: [tool('t')], ttlMs: 60_000 }),
  ]);
}

async function state(guest: Guest) {
  const [page] = await guest.pages('tools/list');
  return { names: namesOf(page.tools), partial: partial(page) };
}
