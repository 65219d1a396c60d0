/** Who gets a parked call, and who does not, with principals that the front door does not know yet. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ModernResponder } from '../../src/bridge/modern-responder.ts';
import { type Claim, type PendingCallLimits, PendingCalls } from '../../src/bridge/pending-calls.ts';
import { Failure } from '../../src/errors/failure.ts';
import { localPrincipal, type Principal } from '../../src/identity/principal.ts';
import { MemoryLease } from '../../src/store/memory.ts';
import type { Lease } from '../../src/store/ports.ts';
import { createSeal } from '../../src/store/seal.ts';
import type { Request } from '../../src/wire/message.ts';
import { readMessage } from '../../src/wire/scan.ts';
import { Gate } from '../interaction/harness/gate.ts';
import { verifies } from '../requirements/verifies.ts';
import { ManualClock } from '../upstream/support/clock.ts';
import { awkwardJson, awkwardText } from '../wire/property.ts';

const MINUTE = 60_000;

class House {
  readonly clock = new ManualClock();
  readonly lease = new MemoryLease(() => this.clock.now());
  readonly parking: PendingCalls;
  /** Why each drive was given up, by name. */
  readonly abandoned: Record<string, string> = {};
  #ids = 0;

  constructor(limits: Partial<PendingCallLimits> = {}, secret = 'secret', roomAt = (_backend: string) => 100) {
    const all = { parkedMs: MINUTE, parkedPerPrincipal: 100, parkedTotal: 100, ...limits };
    const seal = createSeal(secret);
    const newId = () => `id-${++this.#ids}`;
    this.parking = new PendingCalls(all, { clock: this.clock, lease: this.lease, seal, member: '0', newId, roomAt });
  }

  /** Parking looks into no drive: all that it does with one is to give it back, or up. */
  drive(name: string): ModernResponder {
    const abandon = (reason: string) => {
      this.abandoned[name] = reason;
    };
    const drive: Pick<ModernResponder, 'abandon'> = { abandon };
    return drive as ModernResponder;
  }

  park(claim: Claim, drive = this.drive('drive'), backend = 'b'): string {
    const state = this.parking.park(drive, claim, backend);
    if (state instanceof Failure) throw state;
    return state;
  }
}

function request(params: unknown, method = 'tools/call'): Request {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, ...(params === undefined ? {} : { params }) });
  return readMessage(Buffer.from(text), { depth: 64 }) as Request;
}

const params = { name: 't', arguments: { a: 1 } };
const principal = (key: string): Principal => ({ ...localPrincipal(), key });
const ada: Claim = { principal: principal('ada'), endpoint: '/mcp', request: request(params) };
const eve: Claim = { ...ada, principal: principal('eve') };

const elsewhere: readonly { name: string; claim: Claim }[] = [
  { name: 'at another address', claim: { ...ada, endpoint: '/other' } },
  { name: 'with another method', claim: { ...ada, request: request(params, 'prompts/get') } },
  { name: 'without parameters', claim: { ...ada, request: request(undefined) } },
  { name: 'with a parameter more', claim: { ...ada, request: request({ ...params, cursor: 'x' }) } },
];

const nothing = { size: 0, timers: [], leases: 0 };

/** The reason for which it was refused. */
async function refusal(taking: Promise<unknown>): Promise<string | undefined> {
  const thrown = await taking.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown !== undefined && !(thrown instanceof Failure)) throw thrown;
  return thrown?.reason;
}

async function expectStillParked(house: House, state: string, claim: Claim, drive: ModernResponder): Promise<void> {
  expect({ size: house.parking.size, abandoned: house.abandoned }).toEqual({ size: 1, abandoned: {} });
  expect(await house.parking.take(state, claim)).toBe(drive);
  expect({ size: house.parking.size, timers: house.clock.pending, leases: house.lease.size }).toEqual(nothing);
}

describe('a pending call', verifies('gateway:bridge:state-sealed'), () => {
  it('is not had with a single bit of its state changed', async () => {
    const house = new House();
    const drive = house.drive('ada');
    const state = house.park(ada, drive);
    const bytes = Buffer.from(state, 'base64url');
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const refused = await refusal(house.parking.take(changed.toString('base64url'), ada));
      expect({ bit, refused }).toEqual({ bit, refused: 'invalid_request_state' });
    }
    await expectStillParked(house, state, ada, drive);
  });

  it('is not had with any other text', async () => {
    const house = new House();
    const drive = house.drive('ada');
    const state = house.park(ada, drive);
    const piece = fc.tuple(fc.nat(state.length), fc.nat(state.length)).map(([a, b]) => state.slice(a, b));
    const other = fc.oneof(
      awkwardText,
      fc.base64String(),
      piece,
      fc.tuple(piece, awkwardText, piece).map((all) => all.join('')),
    );
    await fc.assert(
      fc.asyncProperty(other, async (text) => {
        fc.pre(text !== state);
        expect(await refusal(house.parking.take(text, ada))).toBe('invalid_request_state');
      }),
      { seed: 20260728, numRuns: 500 },
    );
    await expectStillParked(house, state, ada, drive);
  });

  it('cannot be taken by another principal, whatever its key', async () => {
    const keys = ['eve', '', 'Ada', 'ada ', 'ada\0', 'ada","/mcp', 'ad', 'adaa', '__proto__'];
    const house = new House();
    const drive = house.drive('ada');
    const state = house.park(ada, drive);
    for (const key of keys) {
      const refused = await refusal(house.parking.take(state, { ...ada, principal: principal(key) }));
      expect({ key, refused }).toEqual({ key, refused: 'invalid_request_state' });
    }
    await expectStillParked(house, state, ada, drive);
  });

  it('keeps calls of different owners apart', async () => {
    const house = new House();
    const [hers, other] = [house.drive('ada'), house.drive('eve')];
    const [state, hostile] = [house.park(ada, hers), house.park(eve, other)];
    expect(await refusal(house.parking.take(state, eve))).toBe('invalid_request_state');
    expect(await refusal(house.parking.take(hostile, ada))).toBe('invalid_request_state');
    expect(await house.parking.take(hostile, eve)).toBe(other);
    await expectStillParked(house, state, ada, hers);
  });

  it('is had with the same parameters, and with no others', () => {
    const house = new House();
    const given = fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), awkwardJson, { maxKeys: 3 });
    const plain = (value: unknown) => JSON.stringify(value, (_, inner) => (isRecord(inner) ? sorted(inner) : inner));
    return fc.assert(
      fc.asyncProperty(given, given, fc.boolean(), async (first, second, same) => {
        const claim = (args: unknown, extra: object) => ({
          ...ada,
          request: request({ name: 't', arguments: args, ...extra }),
        });
        const drive = house.drive('ada');
        const state = house.park(claim(first, {}), drive);
        const retried = same ? first : second;
        const taking = house.parking.take(
          state,
          claim(retried, { inputResponses: {}, requestState: state, _meta: { x: 1 } }),
        );
        if (plain(first) === plain(retried)) expect(await taking).toBe(drive);
        else {
          expect(await refusal(taking)).toBe('invalid_request_state');
          expect(await house.parking.take(state, claim(first, {}))).toBe(drive);
        }
      }),
      { seed: 20260728, numRuns: 300 },
    );
  });

  for (const { name, claim } of elsewhere)
    it(`is not had ${name}`, async () => {
      const house = new House();
      const drive = house.drive('ada');
      const state = house.park(ada, drive);
      expect(await refusal(house.parking.take(state, claim))).toBe('invalid_request_state');
      await expectStillParked(house, state, ada, drive);
    });

  it('cannot be taken by another gateway, with another key or with the same one', async () => {
    const house = new House();
    const drive = house.drive('ada');
    const state = house.park(ada, drive);
    for (const other of [new House({}, 'other'), new House({}, 'secret')]) {
      expect(await refusal(other.parking.take(state, ada))).toBe('invalid_request_state');
      expect(other.lease.size).toBe(0);
    }
    await expectStillParked(house, state, ada, drive);
  });

  it('waits for answers of the right shape', async () => {
    const house = new House();
    const drive = house.drive('ada');
    const state = house.park(ada, drive);
    const answering = (inputResponses: unknown) => ({ ...ada, request: request({ ...params, inputResponses }) });
    for (const bad of [[], 'a', 1, null, true, { a: 'b' }, { a: [] }, { a: {}, b: null }])
      expect(await refusal(house.parking.take(state, answering(bad)))).toBe('invalid_params');
    // Whoever has no right to the call does not learn that its answers are wrong.
    const strange = { ...answering('a'), principal: eve.principal };
    expect(await refusal(house.parking.take(state, strange))).toBe('invalid_request_state');
    await expectStillParked(house, state, answering({ a: {}, unknown: {} }), drive);
  });
});

it(
  'a state without a pending call is bound to its owner all the same',
  verifies('gateway:bridge:state-sealed'),
  async () => {
    const house = new House();
    const state = house.parking.anew(ada, 3);
    for (const { claim } of [...elsewhere, { claim: eve }])
      expect(await refusal(house.parking.take(state, claim))).toBe('invalid_request_state');
    expect(await house.parking.take(state, ada)).toEqual({ rounds: 3 });
    house.clock.advance(MINUTE);
    expect(await refusal(house.parking.take(state, ada))).toBe('invalid_request_state');
    expect({ size: house.parking.size, timers: house.clock.pending, leases: house.lease.size }).toEqual(nothing);
  },
);

describe('a pending call is taken once', verifies('gateway:bridge:state-once'), () => {
  it('by one of many concurrent retries, and by none that comes later', async () => {
    const house = new House();
    const state = house.park(ada);
    const all = await Promise.all(Array.from({ length: 10 }, () => refusal(house.parking.take(state, ada))));
    expect(all.filter((reason) => reason === undefined)).toHaveLength(1);
    expect(await refusal(house.parking.take(state, ada))).toBe('invalid_request_state');
    // Nothing is remembered of it.
    expect({ leases: house.lease.size, timers: house.clock.pending }).toEqual({ leases: 0, timers: [] });
    house.clock.advance(MINUTE);
    expect(house.abandoned).toEqual({});
  });

  it('and a second retry does not take it from the first one, which waits for the store', async () => {
    const home = new House();
    const store = new Gate();
    let asked = 0;
    const lease: Lease = {
      take: async () => {
        if (++asked > 1) return undefined;
        await store.opened;
        return { release: async () => undefined };
      },
    };
    const limits = { parkedMs: MINUTE, parkedPerPrincipal: 1, parkedTotal: 1 };
    const outside = { lease, seal: createSeal('secret'), member: '0', newId: () => 'x', roomAt: () => 1 };
    const parking = new PendingCalls(limits, { clock: home.clock, ...outside });
    const drive = home.drive('ada');
    const state = parking.park(drive, ada, 'b') as string;
    const first = parking.take(state, ada);
    expect(await refusal(parking.take(state, ada))).toBe('invalid_request_state');
    store.open();
    expect(await first).toBe(drive);
  });

  it('also when a replica without the call is asked for it first', async () => {
    const [home, other] = [new House(), new House()];
    const shared = new PendingCalls(
      { parkedMs: MINUTE, parkedPerPrincipal: 1, parkedTotal: 1 },
      {
        clock: home.clock,
        lease: home.lease,
        seal: createSeal('secret'),
        member: '0',
        newId: () => 'x',
        roomAt: () => 1,
      },
    );
    const state = home.park(ada);
    expect(await refusal(shared.take(state, ada))).toBe('invalid_request_state');
    expect(await refusal(other.parking.take(state, ada))).toBe('invalid_request_state');
    expect(await refusal(home.parking.take(state, ada))).toBeUndefined();
  });
});

describe('the table of pending calls', verifies('gateway:bridge:parked-expires'), () => {
  it('drops a call whose client does not return before the deadline', async () => {
    const house = new House();
    const state = house.park(ada, house.drive('first'));
    house.clock.advance(MINUTE / 2);
    const drive = house.drive('second');
    const later = house.park(ada, drive);
    house.clock.advance(MINUTE / 2);
    expect(house.abandoned).toEqual({ first: 'The client did not retry the request in time' });
    expect(await refusal(house.parking.take(state, ada))).toBe('invalid_request_state');
    expect(await house.parking.take(later, ada)).toBe(drive);
    expect({ size: house.parking.size, timers: house.clock.pending }).toEqual({ size: 0, timers: [] });
  });

  const full = (house: House, claim: Claim, backend = 'b') => {
    const state = house.parking.park(house.drive('over'), claim, backend);
    return state instanceof Failure ? state.reason : undefined;
  };

  it('keeps room for each backend, however many calls wait at another one', async () => {
    const house = new House({}, 'secret', (backend) => (backend === 'small' ? 1 : 100));
    const state = house.park(eve, house.drive('first'), 'small');
    expect(full(house, ada, 'small')).toBe('too_many_parked');
    expect(full(house, ada, 'large')).toBeUndefined();
    await house.parking.take(state, eve);
    expect(full(house, ada, 'small')).toBeUndefined();
  });

  it('keeps room for each principal, however many calls of another one are pending', async () => {
    const house = new House({ parkedPerPrincipal: 2, parkedTotal: 3 });
    const states = [house.park(eve), house.park(eve)];
    expect(full(house, eve)).toBe('too_many_parked');
    expect(full(house, ada)).toBeUndefined();
    // And for all together.
    expect(full(house, ada)).toBe('too_many_parked');
    // Who was refused holds nothing.
    expect({ size: house.parking.size, timers: house.clock.pending.length }).toEqual({ size: 3, timers: 3 });
    await house.parking.take(states[0] as string, eve);
    expect(full(house, ada)).toBeUndefined();
    expect(full(house, eve)).toBe('too_many_parked');
    house.clock.advance(MINUTE);
    expect({ size: house.parking.size, timers: house.clock.pending }).toEqual({ size: 0, timers: [] });
    expect([full(house, eve), full(house, eve), full(house, eve)]).toEqual([undefined, undefined, 'too_many_parked']);
  });

  it('drops every call when the gateway closes', () => {
    const house = new House();
    for (const name of ['a', 'b']) house.park(ada, house.drive(name));
    house.parking.close();
    const reason = 'The gateway is shutting down';
    expect(house.abandoned).toEqual({ a: reason, b: reason });
    expect({ size: house.parking.size, timers: house.clock.pending }).toEqual({ size: 0, timers: [] });
  });
});

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Members in one order, so that two spellings of equal objects are equal texts. */
function sorted(value: Record<string, unknown>): [string, unknown][] {
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}
