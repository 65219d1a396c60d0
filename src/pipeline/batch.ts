/** The members of a batch: every member is authorized before any of them is executed, and one denial denies all. */
import type { Failure } from '../errors/failure.ts';
import { whenKnown } from '../exchange/on-fulfilled.ts';
import type { Authorization } from '../policy/authorization-request.ts';
import { Denied } from '../policy/refusals.ts';
import type { Message } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import type { Revision } from '../wire/revisions.ts';
import { abandon, authorizeOneWay, type OneWayMessage } from './authorize.ts';
import type { RequestContext } from './context.ts';
import type { Pipeline } from './pipeline.ts';

interface BatchedOneWay {
  readonly context: RequestContext;
  readonly message: OneWayMessage;
  /** Set once the member is allowed. */
  row: MethodRow | undefined;
}

interface BatchedRequest {
  readonly context: RequestContext;
  readonly cleared: Promise<void>;
}

export class BatchMembers {
  readonly oneWay: BatchedOneWay[] = [];
  readonly requests: BatchedRequest[] = [];
  readonly #denials: Denied[] = [];
  /** Members whose rates are counted over several processes. */
  readonly #waiting: Promise<void>[] = [];
  readonly #pipeline: Pipeline;

  constructor(pipeline: Pipeline, batch: RequestContext, revision: Revision, messages: readonly Message[]) {
    this.#pipeline = pipeline;
    for (const message of messages) {
      const context = batch.member(message);
      context.trace = pipeline.shared.tracer?.trace(context);
      if (message.kind === 'request') {
        context.request = message;
        this.requests.push({ context, cleared: this.#clear(pipeline, context) });
        continue;
      }
      this.#allow(context, revision, message);
    }
  }

  /** The first denial, once all members are decided. Where there is one, no allowed member is executed either. */
  async decided(): Promise<Failure | undefined> {
    await Promise.allSettled(this.requests.map(({ cleared }) => cleared));
    await Promise.all(this.#waiting);
    if (this.#denials.length === 0) await this.#approve();
    const [denial] = this.#denials;
    if (denial !== undefined) for (const { context, cleared } of this.requests) abandon(context, cleared);
    return denial;
  }

  /** One member that is not approved denies all. */
  async #approve(): Promise<void> {
    const calls = this.requests.flatMap(({ context }) => {
      // A member that failed was not authorized.
      const { withheld } = (context.authorization as Authorization | undefined) ?? {};
      return withheld === undefined ? [] : [{ context, withheld }];
    });
    if (calls.length === 0) return;
    const [{ callToApprove }, { approveTogether }, { sendAsApproved }] = await Promise.all([
      import('./approve.ts'),
      import('./approve-together.ts'),
      import('./approved-request.ts'),
    ]);
    const asked = calls.map(({ context, withheld }) => ({ withheld, call: callToApprove(context, withheld) }));
    try {
      const approved = await approveTogether(this.#pipeline.shared, asked);
      calls.forEach(({ context }, at) => {
        context.authorization = approved[at] ?? context.authorization;
        sendAsApproved(context, false);
      });
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      this.#denials.push(error);
    }
  }

  #allow(context: RequestContext, revision: Revision, message: OneWayMessage): void {
    const denied = (error: unknown) => {
      if (!(error instanceof Denied)) throw error;
      this.#denials.push(error);
    };
    const member: BatchedOneWay = { context, message, row: undefined };
    this.oneWay.push(member);
    try {
      const allowing = whenKnown(authorizeOneWay(context, revision, message), (row) => {
        member.row = row;
      });
      if (allowing instanceof Promise) this.#waiting.push(allowing.catch(denied));
    } catch (error) {
      denied(error);
    }
  }

  /** Only denials concern the whole batch. Any other failure is reported in the response to its own member. */
  #clear(pipeline: Pipeline, context: RequestContext): Promise<void> {
    const clearing = (async () => pipeline.clear(context))();
    clearing.catch((error: unknown) => {
      if (error instanceof Denied) this.#denials.push(error);
    });
    return clearing;
  }
}
