/** Backends are killed, stalled and started again while clients of both eras call all of them. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import type { Turn } from '../harness/http-backend.ts';
import { enter, eventually, type Guest, namesOf, openMarket, signature } from './setup.ts';
import { openShop, type Shop, tool } from './shop.ts';

/** What a call may be answered with instead. */
const reasons = ['backend_unavailable', 'backend_timeout', 'backend_session_lost'];
/** Answers that each step of the trouble lasts for. */
const STEP = 24;

const limits = {
  // Long enough for a backend without trouble on a busy machine: its calls must not time out.
  connectMs: 2_000,
  firstByteMs: 1_000,
  probeMs: 1_000,
  restartMinMs: 10,
  restartMaxMs: 40,
  discoverWaitMs: 200,
  listWaitMs: 500,
};

class Stalling {
  readonly shop: Promise<Shop>;
  stalled = false;

  constructor(era: Shop['era'], name: string) {
    const answer = (turn: Turn) => {
      const { name: own, arguments: args } = turn.message.params;
      const content = [{ type: 'text', text: `${name}: ${own} ${args.n}` }];
      turn.result({ ...(era === 'modern' && { resultType: 'complete' }), content });
    };
    const script = { 'tools/call': (turn: Turn) => (this.stalled ? undefined : answer(turn)) };
    this.shop = openShop(era, name, { tools: [tool('t')], script });
  }
}

it(
  'every answer is the right one of the right backend, or a named error',
  verifies('gateway:catalog:failure-local', 'gateway:catalog:backend-recovers'),
  async () => {
    const stalling = [new Stalling('modern', 'a'), new Stalling('legacy', 'b'), new Stalling('modern', 'c')];
    const shops = await Promise.all(stalling.map(({ shop }) => shop));
    const names = shops.map(({ name }) => name);
    const gateway = await openMarket(shops, { limits });
    const guests = await Promise.all([...eras, ...eras].map((era) => enter(era, gateway.url())));

    const wrong: string[] = [];
    const failed = new Map<string, number>();
    let answers = 0;
    let rights = 0;
    let over = false;
    const work = async (guest: Guest, first: number) => {
      for (let n = first; !over; n++) {
        const name = names[n % names.length] as string;
        const answer = await guest.ask('tools/call', { name: `${name}__t`, arguments: { n: `${first}/${n}` } });
        answers += 1;
        if (signature(answer) === `${name}: t ${first}/${n}`) rights += 1;
        else if (reasons.includes(answer.error?.data?.reason)) failed.set(name, (failed.get(name) ?? 0) + 1);
        else wrong.push(JSON.stringify({ era: guest.era, name, n, answer }));
      }
    };
    const working = guests.map((guest, index) => work(guest, index));
    const more = async (count: number) => {
      const goal = answers + count;
      await until(() => answers >= goal, `${count} more answers are there`);
    };

    const steps: readonly { trouble: (at: number) => Promise<void>; mend: (at: number) => Promise<void> }[] = [
      {
        trouble: async (at) => shops[at]?.backend.close(),
        mend: async (at) => {
          shops[at]?.forgetSessions();
          await shops[at]?.backend.reopen();
        },
      },
      {
        trouble: async (at) => void Object.assign(stalling[at] as Stalling, { stalled: true }),
        mend: async (at) => void Object.assign(stalling[at] as Stalling, { stalled: false }),
      },
    ];
    await more(STEP);
    for (const at of [0, 1]) {
      for (const { trouble, mend } of steps) {
        await trouble(at);
        await more(STEP);
        const before = rights;
        await until(() => rights > before, 'the others go on');
        await mend(at);
        await more(STEP);
      }
    }
    over = true;
    await Promise.all(working);

    expect(wrong).toEqual([]);
    // There was trouble, and it was local.
    expect([...failed.keys()].sort()).toEqual(['a', 'b']);
    const all = names.map((name) => `${name}__t`);
    for (const guest of guests) {
      for (const name of names) {
        const call = () => guest.ask('tools/call', { name: `${name}__t`, arguments: { n: 'last' } });
        let last = '';
        await eventually(async () => {
          last = signature(await call());
          return last === `${name}: t last`;
        });
        expect(last).toBe(`${name}: t last`);
      }
      expect(namesOf(await guest.all('tools/list'))).toEqual(all);
    }
  },
);
