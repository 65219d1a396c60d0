/** What the stages and the console know of approvals. Implemented in book.ts, which is loaded at the first question. */
import type { Principal } from '../identity/principal.ts';
import type { ApprovalDemand, Approver, GivenApproval } from '../policy/approval.ts';
import type { Span } from '../wire/message.ts';

/**
 * How a call goes on where its backend asks for input. `retries`: its client makes it again, with answers and state in
 * the parameters. `session`: the gateway does. `none`: it does not.
 */
export type CallRounds = 'retries' | 'session' | 'none';

/** A call that waits for a person, and everything that an approval of it is bound to. */
export interface CallToApprove {
  readonly principal: Principal;
  /** How the client names itself. */
  readonly client: string | undefined;
  readonly endpoint: string;
  readonly backend: string;
  readonly method: string;
  /** As the endpoint lists it. */
  readonly name: string | undefined;
  /** As the backend names it. */
  readonly own: string | undefined;
  readonly bytes: Uint8Array;
  /** Absent: the call has none. */
  readonly params: Span | undefined;
  /** What a person is shown of them: the arguments, and whether the call is made as a task. */
  readonly arguments: Span | undefined;
  readonly task?: Span | undefined;
  readonly rounds: CallRounds;
  readonly demand: ApprovalDemand;
}

/** The arguments as a person sees them. */
export interface Preview {
  readonly text: string;
  /** Otherwise the call can be denied, and not approved. */
  readonly isComplete: boolean;
  /** SHA-256 of the text, which the answer repeats: what was seen is what runs. */
  readonly hash: string;
}

export type QuestionState = 'open' | 'approved' | 'denied';

/** A question to a person, as it is stored. */
export interface ApprovalQuestion {
  readonly id: string;
  readonly state: QuestionState;
  readonly by: Approver;
  /** How long the approval holds for the same call. Absent: for one call. */
  readonly forMs?: number | undefined;
  readonly rules: readonly string[];
  /** The key of the caller, and its name for people. */
  readonly principal: string;
  readonly caller: string;
  readonly client?: string | undefined;
  readonly endpoint: string;
  readonly backend: string;
  readonly method: string;
  readonly name?: string | undefined;
  readonly preview: Preview;
  /** In milliseconds since 1970. */
  readonly askedAt: number;
  /** When the question, or the approval, ends. */
  readonly until: number;
  /** Who answered. */
  readonly answeredBy?: string | undefined;
}

export type Waited = QuestionState | 'gone';

/** Rejects with the store's error where the store cannot be reached. */
export interface Approvals {
  /** The question about this call that callers share, where there is one. */
  find(call: CallToApprove): Promise<ApprovalQuestion | undefined>;
  /**
   * Asks, or finds the open question about the same call. `full`: too many are open. `own`: a question of this one
   * request, which only its state finds again.
   */
  ask(
    call: CallToApprove,
    own?: boolean,
  ): Promise<{ readonly question: ApprovalQuestion; readonly isNew: boolean } | 'full'>;
  /** Takes the approval of this call, so that no other call has it. Undefined where there is none. */
  claim(call: CallToApprove): Promise<GivenApproval | undefined>;
  /** The caller has agreed to the question with this id. Undefined where it is used, over, or of another call. */
  claimOwn(call: CallToApprove, id: string): Promise<GivenApproval | undefined>;
  /** The caller has agreed at its client. Keeps the approval, where it holds for a time. */
  keep(call: CallToApprove, id: string): Promise<void>;
  /** The caller has said no to the question with this id, or it was put in vain. False where it is over already. */
  drop(id: string): Promise<boolean>;
  /** Waits until the question is answered or over, or for `ms`. */
  waitFor(question: ApprovalQuestion, ms: number, signal: AbortSignal): Promise<Waited>;
  /** The call asked its client for input: the next round, and only that, belongs to the same approval. */
  continueAs(call: CallToApprove, approval: GivenApproval): void;
  claimRound(call: CallToApprove): Promise<GivenApproval | undefined>;
  preview(call: CallToApprove): Preview;
  newId(): string;
  /** All open questions. */
  open(): Promise<readonly ApprovalQuestion[]>;
  byId(id: string): Promise<ApprovalQuestion | undefined>;
  /** False where someone else was faster, or the question is over. */
  answer(question: ApprovalQuestion, isApproved: boolean, answeredBy: string): Promise<boolean>;
}
