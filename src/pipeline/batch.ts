/** The members of a batch: every member is authorized before any of them is executed, and one denial denies all. */
import type { Failure } from '../errors/failure.ts';
import { Denied } from '../policy/refusals.ts';
import type { Message, Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { abandonAuthorization } from './authorize.ts';
import type { SessionContext } from './legacy-calls.ts';

type OneWay = Exclude<Message, Request>;

export interface Deciding {
  /** Throws where the message is denied. */
  oneWay(message: OneWay): MethodRow | undefined;
  request(message: Request): SessionContext;
  clear(context: SessionContext, message: Request): SessionContext | Promise<SessionContext>;
}

interface BatchedRequest {
  readonly context: SessionContext;
  readonly message: Request;
  readonly cleared: Promise<SessionContext>;
}

export class BatchMembers {
  readonly oneWay: readonly { readonly message: OneWay; readonly row: MethodRow | undefined }[] = [];
  readonly requests: readonly BatchedRequest[];
  readonly #denials: Denied[] = [];

  constructor(messages: readonly Message[], deciding: Deciding) {
    const oneWay: { message: OneWay; row: MethodRow | undefined }[] = [];
    this.requests = messages.flatMap((message) => {
      if (message.kind === 'request') {
        const context = deciding.request(message);
        return [{ context, message, cleared: this.#clear(context, message, deciding) }];
      }
      try {
        oneWay.push({ message, row: deciding.oneWay(message) });
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        this.#denials.push(error);
      }
      return [];
    });
    this.oneWay = oneWay;
  }

  /** The first denial, once all members are decided. Where there is one, no allowed member is executed either. */
  async decided(): Promise<Failure | undefined> {
    await Promise.allSettled(this.requests.map(({ cleared }) => cleared));
    const [denial] = this.#denials;
    if (denial !== undefined) for (const { cleared } of this.requests) giveBack(cleared);
    return denial;
  }

  /** Only denials concern the whole batch. Any other failure is reported in the response to its own member. */
  #clear(context: SessionContext, message: Request, deciding: Deciding): Promise<SessionContext> {
    const clearing = (async () => deciding.clear(context, message))();
    clearing.catch((error: unknown) => {
      if (error instanceof Denied) this.#denials.push(error);
    });
    return clearing;
  }
}

/** What was allowed is not executed after all. */
export function giveBack(clearing: SessionContext | Promise<SessionContext>): void {
  if (clearing instanceof Promise) {
    clearing.then(
      ({ authorization }) => abandonAuthorization(authorization),
      () => undefined,
    );
  } else abandonAuthorization(clearing.authorization);
}

export function refusal(failure: Failure): Promise<never> {
  const refused = Promise.reject(failure);
  refused.catch(() => undefined);
  return refused;
}
