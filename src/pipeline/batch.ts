/** The members of a batch: every one is decided before any of them is done, and one denial denies all. */
import type { Failure } from '../errors/failure.ts';
import { Denied } from '../policy/refusals.ts';
import type { Message, Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { abandonAuthorization } from './authorize.ts';
import type { Cleared } from './legacy-calls.ts';

type OneWay = Exclude<Message, Request>;

export interface Deciding {
  /** Throws where it is denied. */
  oneWay(message: OneWay): MethodRow | undefined;
  request(message: Request): Cleared | Promise<Cleared>;
}

export class BatchMembers {
  readonly oneWay: readonly { readonly message: OneWay; readonly row: MethodRow | undefined }[] = [];
  readonly requests: readonly { readonly message: Request; readonly cleared: Promise<Cleared> }[];
  readonly #denials: Denied[] = [];

  constructor(messages: readonly Message[], deciding: Deciding) {
    const oneWay: { message: OneWay; row: MethodRow | undefined }[] = [];
    this.requests = messages.flatMap((message) => {
      if (message.kind === 'request') return [{ message, cleared: this.#clear(message, deciding) }];
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

  /** The first denial among them, once all are decided; then nothing of what was allowed is done either. */
  async decided(): Promise<Failure | undefined> {
    await Promise.allSettled(this.requests.map(({ cleared }) => cleared));
    const [denial] = this.#denials;
    if (denial !== undefined) for (const { cleared } of this.requests) giveBack(cleared);
    return denial;
  }

  /** What else is wrong with a member is that member's own affair, and told in its answer. */
  #clear(message: Request, deciding: Deciding): Promise<Cleared> {
    const clearing = (async () => deciding.request(message))();
    clearing.catch((error: unknown) => {
      if (error instanceof Denied) this.#denials.push(error);
    });
    return clearing;
  }
}

/** What was allowed is not done after all. */
export function giveBack(clearing: Cleared | Promise<Cleared>): void {
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
