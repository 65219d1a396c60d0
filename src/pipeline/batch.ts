/** The members of a batch: every member is authorized before any of them is executed, and one denial denies all. */
import type { Failure } from '../errors/failure.ts';
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
  readonly row: MethodRow | undefined;
}

interface BatchedRequest {
  readonly context: RequestContext;
  readonly cleared: Promise<void>;
}

export class BatchMembers {
  readonly oneWay: BatchedOneWay[] = [];
  readonly requests: BatchedRequest[] = [];
  readonly #denials: Denied[] = [];

  constructor(pipeline: Pipeline, batch: RequestContext, revision: Revision, messages: readonly Message[]) {
    for (const message of messages) {
      const context = batch.member(message);
      context.trace = pipeline.shared.tracer?.trace(context);
      if (message.kind === 'request') {
        context.request = message;
        this.requests.push({ context, cleared: this.#clear(pipeline, context) });
        continue;
      }
      try {
        this.oneWay.push({ context, message, row: authorizeOneWay(context, revision, message) });
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        this.#denials.push(error);
      }
    }
  }

  /** The first denial, once all members are decided. Where there is one, no allowed member is executed either. */
  async decided(): Promise<Failure | undefined> {
    await Promise.allSettled(this.requests.map(({ cleared }) => cleared));
    const [denial] = this.#denials;
    if (denial !== undefined) for (const { context, cleared } of this.requests) abandon(context, cleared);
    return denial;
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
