/** Whatever callers, people, replicas and time do: no call is sent that a person has not approved, and each once. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ApprovalBook } from '../../src/approvals/book.ts';
import type { ApprovalQuestion } from '../../src/approvals/ports.ts';
import { MemoryRecords } from '../kit/memory-records.ts';
import { verifies } from '../requirements/verifies.ts';
import { APPROVAL_MS, bookOver, type CallWish, callOf, type Time } from './setup.ts';

/** Calls that differ in one thing each. */
const wishes: readonly CallWish[] = [
  {},
  { arguments: '{"n":1}' },
  { arguments: '{"n":1.0}' },
  { arguments: '{"n":9007199254740993}' },
  { arguments: '{"n":9007199254740992}' },
  { who: 'other' },
  { client: 'c/2' },
  { endpoint: '/b' },
  { backend: 'c' },
  { name: 'remove' },
  { demand: { text: 'another rule' } },
  { demand: { text: 'for a time', forMs: APPROVAL_MS * 2 } },
];

type Act =
  | { readonly kind: 'ask' | 'claim' | 'own' | 'round'; readonly call: number; readonly at: 0 | 1 }
  | { readonly kind: 'answer'; readonly question: number; readonly yes: boolean; readonly at: 0 | 1 }
  | { readonly kind: 'replay'; readonly question: number; readonly call: number; readonly at: 0 | 1 }
  | { readonly kind: 'pass'; readonly ms: number };

const at = fc.constantFrom<0 | 1>(0, 1);
/** Of the few calls that one run has, so that they meet. */
const call = fc.nat(1);
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constantFrom('ask' as const, 'claim', 'own', 'round'), call, at }),
  fc.record({ kind: fc.constant('answer' as const), question: fc.nat(1), yes: fc.boolean(), at }),
  fc.record({ kind: fc.constant('replay' as const), question: fc.nat(1), call, at }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, APPROVAL_MS / 2, APPROVAL_MS + 1) }),
);

const pair = { minLength: 2, maxLength: 2 };

interface Agreed {
  readonly call: number;
  readonly until: number;
  readonly isOnce: boolean;
}

/** What a person has agreed to, and what was sent, by the ids of questions. */
class World {
  readonly time: Time = { now: 1_000_000 };
  readonly records = new MemoryRecords(() => this.time.now);
  readonly books: readonly [ApprovalBook, ApprovalBook];
  readonly questions: { readonly question: ApprovalQuestion; readonly call: number; readonly own: boolean }[] = [];
  readonly agreed = new Map<string, Agreed>();
  readonly sent = new Map<string, number>();
  readonly #wishes: readonly CallWish[];

  constructor(given: readonly CallWish[] = wishes) {
    this.#wishes = given;
    this.books = [bookOver(this.records, this.time, 'a'), bookOver(this.records, this.time, 'b')];
  }

  async do(one: Act): Promise<void> {
    if (one.kind === 'pass') {
      this.time.now += one.ms;
      return;
    }
    const book = this.books[one.at];
    if (one.kind === 'answer') await this.#answer(book, one.question, one.yes);
    else if (one.kind === 'replay') await this.#replay(book, one.question, one.call);
    else await this.#call(book, one.kind, one.call);
  }

  async #call(book: ApprovalBook, kind: 'ask' | 'claim' | 'own' | 'round', of: number): Promise<void> {
    const wanted = callOf(this.#wishes[of]);
    if (kind === 'ask' || kind === 'own') {
      const asked = await book.ask(wanted, kind === 'own');
      if (asked !== 'full' && asked.isNew) this.questions.push({ ...asked, call: of, own: kind === 'own' });
      return;
    }
    const approval = await (kind === 'claim' ? book.claim(wanted) : book.claimRound(wanted));
    if (approval !== undefined) this.#send(approval.id, of);
  }

  async #answer(book: ApprovalBook, which: number, yes: boolean): Promise<void> {
    const asked = this.questions.at(-1 - which);
    if (asked === undefined || asked.own) return;
    const isHeard = await book.answer(asked.question, yes, 'bob');
    if (!isHeard || !yes) return;
    expect(this.agreed.has(asked.question.id)).toBe(false);
    this.#agree(asked.question, asked.call, asked.question.forMs ?? APPROVAL_MS);
  }

  /** The caller brings an answer to a question, perhaps of another call, perhaps for the second time. */
  async #replay(book: ApprovalBook, which: number, of: number): Promise<void> {
    const asked = this.questions.at(-1 - which);
    if (asked === undefined) return;
    const { question } = asked;
    const approval = await book.claimOwn(callOf(this.#wishes[of]), question.id);
    if (approval === undefined) return;
    expect(asked.own && this.time.now < question.until).toBe(true);
    this.#agree(question, asked.call, question.forMs ?? APPROVAL_MS);
    this.#send(approval.id, of);
  }

  #agree({ id, forMs }: ApprovalQuestion, of: number, ms: number): void {
    this.agreed.set(id, { call: of, until: this.time.now + ms, isOnce: forMs === undefined });
  }

  #send(id: string, of: number): void {
    const agreed = this.agreed.get(id);
    expect(agreed?.call).toBe(of);
    expect(this.time.now).toBeLessThan(agreed?.until ?? 0);
    const times = (this.sent.get(id) ?? 0) + 1;
    this.sent.set(id, times);
    if (agreed?.isOnce !== false) expect(times).toBe(1);
  }
}

it('replays, changed arguments, expiry and answers in any order at two replicas', {
  ...verifies('gateway:approval:exact', 'gateway:approval:once', 'gateway:approval:silence'),
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([...wishes], pair), fc.array(act, { maxLength: 60 }), async (given, acts) => {
      const world = new World(given);
      for (const one of acts) await world.do(one);
    }),
    { numRuns: 1_000 },
  );
});

it('the same acts at once: the number of sent calls is never above the number of approvals', {
  ...verifies('gateway:approval:once'),
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(3), fc.array(at, { minLength: 2, maxLength: 12 }), async (approvals, claims) => {
      const world = new World();
      const wanted = callOf();
      let taken = 0;
      for (let n = 0; n <= approvals; n++) {
        const asked = await world.books[0].ask(wanted);
        if (asked === 'full') throw new Error('full');
        const answers = world.books.map((book) => book.answer(asked.question, true, 'bob'));
        expect((await Promise.all(answers)).filter(Boolean)).toHaveLength(1);
        const found = await Promise.all(claims.map((replica) => world.books[replica].claim(wanted)));
        taken += found.filter((approval) => approval !== undefined).length;
        expect(taken).toBe(n + 1);
      }
    }),
    { numRuns: 100 },
  );
});

it('two replicas that ask at once put one question', verifies('gateway:approval:bounded'), async () => {
  const { books } = new World();
  const asked = await Promise.all([0, 1, 0, 1, 0, 1].map((replica) => books[replica as 0 | 1].ask(callOf())));
  const found = asked.flatMap((one) => (one === 'full' ? [] : [one]));
  expect(new Set(found.map(({ question }) => question.id)).size).toBe(1);
  expect(found.filter(({ isNew }) => isNew)).toHaveLength(1);
});
