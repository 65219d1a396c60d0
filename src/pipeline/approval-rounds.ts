/** How a person is asked about one call: at the client by an elicitation of its era, or on the page of the console. */
import type { ApprovalQuestion, Approvals, CallToApprove } from '../approvals/ports.ts';
import { inputRequired, inputResponses } from '../bridge/input-required.ts';
import type { GivenApproval } from '../policy/approval.ts';
import { Denied } from '../policy/refusals.ts';
import type { WithheldAuthorization } from '../policy/withheld.ts';
import type { Session } from '../session/session.ts';
import { notificationBytes } from '../wire/compose.ts';
import { member, textMember } from '../wire/values.ts';
import { answerIn, canElicit, type ElicitedAnswer, elicitAtSession, formOf, visitOf } from './approval-forms.ts';
import type { RequestContext } from './context.ts';
import type { SharedServices } from './services.ts';

/** The key of the question in `inputRequests`, and of its answer. */
const KEY = 'approval';
/** Well within the minute after which clients give up that hear of no progress. */
const PROGRESS_MS = 10_000;

export class ApprovalRounds {
  readonly #shared: SharedServices;
  readonly #approvals: Approvals;
  readonly #context: RequestContext;
  readonly #withheld: WithheldAuthorization;
  readonly #call: CallToApprove;
  readonly #signal: AbortSignal;
  /** Whether time has passed since the request was decided. */
  isWaited = false;
  /** Whether the request carries an answer to us. */
  isAnswered = false;

  constructor(
    shared: SharedServices,
    approvals: Approvals,
    context: RequestContext,
    withheld: WithheldAuthorization,
    call: CallToApprove,
    signal: AbortSignal,
  ) {
    this.#shared = shared;
    this.#approvals = approvals;
    this.#context = context;
    this.#withheld = withheld;
    this.#call = call;
    this.#signal = signal;
  }

  /** The approval, taken for this call alone. Undefined where the client was asked instead. Rejects with a Failure. */
  async obtain(): Promise<GivenApproval | undefined> {
    const { request, session } = this.#context;
    const state = session === undefined ? textMember(request.bytes, request.params, 'requestState') : undefined;
    const asked = state === undefined ? undefined : this.#shared.pendingCalls.askedIn(state, this.#claim());
    this.isAnswered = asked !== undefined;
    const hasAnswers = session === undefined && member(request.params, 'inputResponses') !== undefined;
    // A backend may ask without a state.
    const isRound = asked === undefined && (state !== undefined || hasAnswers);
    const taken = (isRound ? await this.#approvals.claimRound(this.#call) : undefined) ?? (await this.#taken());
    if (taken !== undefined) return taken;
    const isOther = this.#call.demand.by === 'other';
    if (asked === undefined) return isOther ? this.#askOther(false) : this.#askCaller();
    const answer = inputResponses(request).find(({ key }) => key === KEY);
    const said = answer === undefined ? undefined : answerIn(answer.result);
    return isOther ? this.#afterVisit(said) : this.#afterForm(asked, said);
  }

  #taken(): Promise<GivenApproval | undefined> {
    return this.#approvals.claim(this.#call);
  }

  /** A question that is used or over, or of another call, is put anew. */
  async #afterForm(id: string, answer: ElicitedAnswer | undefined): Promise<GivenApproval | undefined> {
    if (answer === 'accept') {
      const approval = await this.#approvals.claimOwn(this.#call, id);
      if (approval === undefined) return this.#askCaller();
      this.#withheld.answered(id, 'approved');
      return approval;
    }
    const isDropped = await this.#approvals.drop(id);
    if (answer === undefined) return this.#askCaller();
    if (isDropped) this.#withheld.answered(id, 'denied');
    throw this.#denied(id);
  }

  async #afterVisit(answer: ElicitedAnswer | undefined): Promise<GivenApproval | undefined> {
    if (answer === undefined || answer === 'accept') return this.#askOther(answer === 'accept');
    const question = await this.#approvals.find(this.#call);
    throw this.#needed(question?.id);
  }

  async #askCaller(): Promise<GivenApproval | undefined> {
    const preview = this.#approvals.preview(this.#call);
    const form = formOf(this.#call, preview);
    if (!canElicit(this.#context, form)) return this.#askAtPage();
    if (!preview.isComplete) throw new Denied('approval_not_shown');
    const { session } = this.#context;
    if (session !== undefined) return this.#askSession(session, form);
    this.#elicit(await this.#open(true), form);
    return undefined;
  }

  /** The answer comes over the session of this request, so the question need not be stored. */
  async #askSession(session: Session, form: object): Promise<GivenApproval | undefined> {
    const id = this.#approvals.newId();
    this.#withheld.asked(id);
    const answer = await elicitAtSession(session, this.#context.exchange, form, this.#signal);
    if (answer === 'gone') return undefined;
    this.isWaited = true;
    if (answer === 'late') {
      this.#withheld.answered(id, 'expired');
      throw new Denied('approval_expired', { data: { approval: id } });
    }
    this.#withheld.answered(id, answer === 'accept' ? 'approved' : 'denied');
    if (answer !== 'accept') throw this.#denied(id);
    await this.#approvals.keep(this.#call, id);
    return { id, text: this.#call.demand.text };
  }

  /** The result asks a modern client; its retry brings the answer. */
  #elicit({ id }: ApprovalQuestion, params: object): void {
    const asked = [{ key: KEY, method: 'elicitation/create', params: JSON.stringify(params) }];
    this.#context.exchange.askFor(inputRequired(asked, this.#shared.pendingCalls.asking(this.#claim(), id)));
  }

  /** The client cannot be asked. Where there is no page either, no one can be. */
  #askAtPage(): Promise<GivenApproval | undefined> {
    if (this.#shared.approvals.pageOf('') !== undefined) return this.#askOther(true);
    const message =
      'The person at the client has to approve this call, and the client cannot ask: it does not declare `elicitation`';
    throw new Denied('approval_needed', { message, data: { rules: this.#call.demand.rules } });
  }

  /** `isTold`: the client knows the page already, or cannot show it. */
  async #askOther(isTold: boolean): Promise<GivenApproval | undefined> {
    const question = await this.#open(false);
    if (question.state === 'denied') throw this.#denied(question.id);
    const url = this.#shared.approvals.pageOf(question.id);
    const visit = url === undefined ? undefined : visitOf(this.#call, url);
    if (!isTold && this.#context.session === undefined && visit !== undefined && canElicit(this.#context, visit)) {
      this.#elicit(question, visit);
      return undefined;
    }
    return this.#waitFor(question);
  }

  /** The client waits with us for a while. Then it is told to come back: its next call finds the same question. */
  async #waitFor(question: ApprovalQuestion): Promise<GivenApproval | undefined> {
    const stopTelling = this.#tellProgress(question);
    this.isWaited = true;
    const { approvalWaitMs } = this.#shared.limits;
    const waited = await this.#approvals.waitFor(question, approvalWaitMs, this.#signal).finally(stopTelling);
    if (this.#signal.aborted) return undefined;
    if (waited === 'denied') throw this.#denied(question.id);
    if (waited === 'gone' && question.until <= this.#shared.timeOfDay())
      throw new Denied('approval_expired', { data: { approval: question.id } });
    const approval = waited === 'approved' ? await this.#taken() : undefined;
    if (approval !== undefined) return approval;
    throw waited === 'open' ? this.#needed(question.id) : this.#needed(undefined, usedUp);
  }

  /** The question of this call: an old one, or a new one, which is recorded. Throws where there are too many. */
  async #open(own: boolean): Promise<ApprovalQuestion> {
    const opened = await this.#approvals.ask(this.#call, own);
    if (opened === 'full') throw new Denied('too_many_approvals');
    // Where the question cannot be recorded, it is not put: it ends unanswered, and no call waits for it.
    if (opened.isNew) this.#withheld.asked(opened.question.id);
    else this.#withheld.over();
    return opened.question;
  }

  #tellProgress({ id }: ApprovalQuestion): () => void {
    const { exchange } = this.#context;
    const { token } = exchange;
    if (token === undefined) return () => undefined;
    let progress = 0;
    let stop: () => void = () => undefined;
    const tell = () => {
      const message = JSON.stringify(`Waiting for an approval: ${this.#shared.approvals.pageOf(id) ?? id}`);
      const params = `{"progressToken":${token.raw},"progress":${++progress},"message":${message}}`;
      exchange.send(notificationBytes('notifications/progress', params), 'progress', token.key);
      stop = this.#shared.clock.after(PROGRESS_MS, tell);
    };
    tell();
    return () => stop();
  }

  #claim() {
    const { principal, endpoint, request } = this.#context;
    return { principal, endpoint: endpoint.path, request };
  }

  #denied(id: string): Denied {
    return new Denied('approval_denied', { data: { approval: id, rules: this.#call.demand.rules } });
  }

  #needed(id: string | undefined, message?: string): Denied {
    return approvalNeeded(this.#shared, this.#call, id, message);
  }
}

const usedUp = 'The approval was used by the same call of another request: make the call again to ask anew';

/** Clients show people the message, and seldom the data: the address of the page is in both. */
export function approvalNeeded(
  { approvals }: Pick<SharedServices, 'approvals'>,
  { demand }: Pick<CallToApprove, 'demand'>,
  id: string | undefined,
  message?: string,
): Denied {
  const url = id === undefined ? undefined : approvals.pageOf(id);
  const who = demand.by === 'other' ? 'Another person' : 'A person';
  const at = url === undefined ? '' : ` at ${url}. Make the same call again once it is approved`;
  return new Denied('approval_needed', {
    message: message ?? `${who} has to approve this call first${at}`,
    data: { rules: demand.rules, ...(id !== undefined && { approval: id }), ...(url !== undefined && { url }) },
  });
}
