/**
 * The questions to people, and their answers, as records of the store. A record changes by compare-and-replace alone,
 * so that of several callers, in any process, one asks, one answers and one takes the approval.
 *
 *   (none) -> open -> approved -> (none)   taken by the call, once; stays where it holds for a time
 *                  -> denied   -> (none)   stays until its time is over: the same call is not asked about again at once
 *                  -> (none)               no answer in time
 */
import type { Clock } from '../exchange/clock.ts';
import { Tally } from '../exchange/tally.ts';
import { shownPrincipal } from '../identity/principal.ts';
import type { Redaction } from '../observe/audit-redact.ts';
import type { GivenApproval } from '../policy/approval.ts';
import type { Bus, Records } from '../store/ports.ts';
import { type Binding, bindingOf } from './binding.ts';
import type { ApprovalQuestion, Approvals, CallToApprove, Preview, Waited } from './ports.ts';
import { previewOf } from './preview.ts';
import { QuestionRecords } from './records.ts';

export interface ApprovalLimits {
  readonly approvalMs: number;
  readonly approvalsPerPrincipal: number;
  readonly approvalsTotal: number;
  /** How long the next round of a call may take. */
  readonly parkedMs: number;
}

export interface ApprovalPorts {
  readonly limits: ApprovalLimits;
  readonly records: () => Promise<Records>;
  readonly bus: Bus;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  /** What is not shown to people. */
  readonly secrets: () => Redaction;
  readonly newId: () => string;
  /** Is told of a question that was not answered in time. */
  readonly expired: (question: ApprovalQuestion) => void;
}

const TOPIC = 'approvals';
/** A waiting call reads its question this often: messages of other processes may be lost, and workers have no bus. */
const READ_MS = 1_000;
const NONCE_CHARACTERS = 16;

export class ApprovalBook implements Approvals {
  readonly #ports: ApprovalPorts;
  readonly #questions: QuestionRecords;
  /** Being stored, and not counted there yet. */
  readonly #asking = new Tally();
  /** Rounds that are being stored: the client may be faster. */
  readonly #rounds = new Map<string, Promise<void>>();

  /** Ends the wait for an answer, by the id of the question. */
  readonly #stopWaiting = new Map<string, () => void>();

  constructor(ports: ApprovalPorts) {
    this.#ports = ports;
    this.#questions = new QuestionRecords(ports);
  }

  async find(call: CallToApprove): Promise<ApprovalQuestion | undefined> {
    return (await this.#questions.read(bindingOf(call).key))?.question;
  }

  async ask(call: CallToApprove, own = false): Promise<{ question: ApprovalQuestion; isNew: boolean } | 'full'> {
    const { principal, key } = bindingOf(call);
    const id = `${key}-${this.newId()}`;
    const place = own ? id : key;
    const found = own ? undefined : await this.#questions.read(place);
    if (found !== undefined) return { question: found.question, isNew: false };
    this.#asking.add(principal, 1);
    try {
      if (await this.#isFull(principal)) return 'full';
      const question = this.#question(call, id);
      if (await this.#questions.change(place, undefined, question)) {
        this.#expireLater(place, question);
        return { question, isNew: true };
      }
    } finally {
      this.#asking.add(principal, -1);
    }
    // Another call was faster with the same question.
    return this.ask(call, own);
  }

  async claim(call: CallToApprove): Promise<GivenApproval | undefined> {
    const { key } = bindingOf(call);
    const found = await this.#questions.read(key);
    if (found?.question.state !== 'approved') return undefined;
    const { id, forMs } = found.question;
    const approval = { id, text: call.demand.text };
    if (forMs !== undefined) return approval;
    return (await this.#questions.remove(key, found)) ? approval : undefined;
  }

  async claimOwn(call: CallToApprove, id: string): Promise<GivenApproval | undefined> {
    if (!id.startsWith(`${bindingOf(call).key}-`)) return undefined;
    const found = await this.#questions.read(id);
    if (found?.question.state !== 'open' || !(await this.#questions.remove(id, found))) return undefined;
    this.#ended(id);
    await this.keep(call, id);
    return { id, text: call.demand.text };
  }

  async keep(call: CallToApprove, id: string): Promise<void> {
    const { forMs } = call.demand;
    // Otherwise it was for this call alone.
    if (forMs !== undefined) await this.#keepApproved(call, bindingOf(call).key, id, forMs);
  }

  async drop(id: string): Promise<boolean> {
    const found = await this.#questions.read(id);
    this.#ended(id);
    return found !== undefined && this.#questions.remove(id, found);
  }

  async waitFor({ id }: ApprovalQuestion, ms: number, signal: AbortSignal): Promise<Waited> {
    const { clock, timeOfDay } = this.#ports;
    const until = timeOfDay() + ms;
    for (;;) {
      const heard = this.#heard(id, clock, signal);
      try {
        const question = await this.byId(id);
        const left = until - timeOfDay();
        if (question === undefined) return 'gone';
        if (question.state !== 'open' || left <= 0 || signal.aborted) return question.state;
        await heard.within(Math.min(left, READ_MS));
      } finally {
        heard.stop();
      }
    }
  }

  continueAs(call: CallToApprove, approval: GivenApproval): void {
    const key = roundKey(bindingOf(call));
    const storing = this.#keepApproved(call, key, approval.id, this.#ports.limits.parkedMs)
      .catch(() => undefined)
      .finally(() => this.#rounds.delete(key));
    this.#rounds.set(key, storing);
  }

  async claimRound(call: CallToApprove): Promise<GivenApproval | undefined> {
    const key = roundKey(bindingOf(call));
    await this.#rounds.get(key);
    const found = await this.#questions.read(key);
    if (found === undefined || !(await this.#questions.remove(key, found))) return undefined;
    return { id: found.question.id, text: call.demand.text };
  }

  preview(call: CallToApprove): Preview {
    return previewOf(call, this.#ports.secrets());
  }

  newId(): string {
    return this.#ports
      .newId()
      .replaceAll(/[^A-Za-z0-9]/g, '')
      .slice(0, NONCE_CHARACTERS);
  }

  async open(): Promise<readonly ApprovalQuestion[]> {
    const all = await this.#questions.all(this.#ports.limits.approvalsTotal);
    return all.filter(({ state }) => state === 'open');
  }

  /** A shared question is stored under the part of its id that the call determines. */
  async byId(id: string): Promise<ApprovalQuestion | undefined> {
    const shared = await this.#questions.read(sharedKey(id));
    if (shared?.question.id === id) return shared.question;
    return (await this.#questions.read(id))?.question;
  }

  async answer({ id }: ApprovalQuestion, isApproved: boolean, answeredBy: string): Promise<boolean> {
    for (const key of [sharedKey(id), id]) {
      const found = await this.#questions.read(key);
      if (found?.question.id !== id || found.question.state !== 'open') continue;
      const { forMs, until } = found.question;
      const { limits, timeOfDay, bus } = this.#ports;
      const answered: ApprovalQuestion = isApproved
        ? { ...found.question, state: 'approved', until: timeOfDay() + (forMs ?? limits.approvalMs), answeredBy }
        : { ...found.question, state: 'denied', until, answeredBy };
      this.#ended(id);
      const isFirst = await this.#questions.change(key, found, answered);
      if (isFirst) await bus.publish(TOPIC, id);
      return isFirst;
    }
    return false;
  }

  #question(call: CallToApprove, id: string): ApprovalQuestion {
    const { principal, client, endpoint, backend, method, name, demand } = call;
    const now = this.#ports.timeOfDay();
    return {
      ...{ id, state: 'open', by: demand.by, forMs: demand.forMs, rules: demand.rules },
      ...{
        principal: (principal.holder ?? principal).key,
        caller: shownPrincipal(principal),
        client,
        endpoint,
        backend,
        method,
        name,
      },
      ...{ preview: this.preview(call), askedAt: now, until: now + this.#ports.limits.approvalMs },
    };
  }

  /** Where the principal has too many already, it is not kept: the call is asked about anew. */
  async #keepApproved(call: CallToApprove, key: string, id: string, ms: number): Promise<void> {
    const { principal } = bindingOf(call);
    const until = this.#ports.timeOfDay() + ms;
    this.#asking.add(principal, 1);
    try {
      if (await this.#isFull(principal)) return;
      await this.#questions.put(key, { ...this.#question(call, id), state: 'approved', until });
    } finally {
      this.#asking.add(principal, -1);
    }
  }

  async #isFull(principal: string): Promise<boolean> {
    const { approvalsPerPrincipal: each, approvalsTotal: all } = this.#ports.limits;
    const [own, others] = await Promise.all([
      this.#questions.count(`${principal}-`, each),
      this.#questions.count('', all),
    ]);
    return own + this.#asking.of(principal) > each || others >= all;
  }

  /** In this process: where it ends before, the record ends by itself, without a word in the trail. */
  #expireLater(key: string, question: ApprovalQuestion): void {
    const { clock, limits, bus, expired } = this.#ports;
    const expire = async () => {
      const found = await this.#questions.read(key, 'also over');
      if (found?.question.id !== question.id || found.question.state !== 'open') return;
      if (!(await this.#questions.remove(key, found))) return;
      expired(question);
      await bus.publish(TOPIC, question.id);
    };
    const stop = clock.after(limits.approvalMs, () => {
      this.#stopWaiting.delete(question.id);
      void expire().catch(() => undefined);
    });
    this.#stopWaiting.set(question.id, stop);
  }

  #ended(id: string): void {
    this.#stopWaiting.get(id)?.();
    this.#stopWaiting.delete(id);
  }

  /** Begins to listen at once, so that an answer between reading and waiting is not missed. */
  #heard(id: string, clock: Clock, signal: AbortSignal) {
    let wake: () => void = () => undefined;
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const unsubscribe = this.#ports.bus.subscribe(TOPIC, (message) => {
      if (message === id) wake();
    });
    let stopTimer: () => void = () => undefined;
    signal.addEventListener('abort', wake, { once: true });
    return {
      within: (ms: number) => {
        stopTimer = clock.after(ms, wake);
        return woken;
      },
      stop: () => {
        stopTimer();
        unsubscribe();
        signal.removeEventListener('abort', wake);
      },
    };
  }
}

function sharedKey(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('-')));
}

function roundKey({ key }: Binding): string {
  return `${key}-round`;
}
