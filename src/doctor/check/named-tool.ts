/** The tool that the user named. Tools have effects, so checks share one call of it where they can. */
import type { PeerReply } from '../peer/reply.ts';
import type { Talk } from '../talk.ts';
import type { NamedCall } from '../visit.ts';
import { notTested } from './check.ts';

/** The progress token of the call that checks share. */
export const progressToken = 'bascule-check-progress';

export const noTool = notTested('no tool is named (--call)');

export class NamedTool {
  readonly #call: NamedCall;
  readonly #called = new Map<Talk, Promise<PeerReply>>();

  constructor(call: NamedCall) {
    this.#call = call;
  }

  get params(): { readonly name: string; readonly arguments: NamedCall['args'] } {
    return { name: this.#call.tool, arguments: this.#call.args };
  }

  /** The only call of the conversation with a progress token. */
  called(talk: Talk): Promise<PeerReply> {
    const known = this.#called.get(talk);
    if (known !== undefined) return known;
    const _meta = { progressToken };
    const calling =
      talk.era === 'modern'
        ? talk.request('tools/call', this.params, { meta: _meta, until: isServerRequest })
        : talk.request('tools/call', { ...this.params, _meta }, { until: isServerRequest });
    this.#called.set(talk, calling);
    return calling;
  }

  /** A further call, without a progress token. */
  calledPlainly(talk: Talk): Promise<PeerReply> {
    return talk.request('tools/call', this.params, { until: isServerRequest });
  }
}

/** The client has declared nothing, so the server waits in vain for an answer. `ping` needs no declaration. */
export function isServerRequest({ id, method }: PeerReply['others'][number]): boolean {
  return id !== undefined && typeof method === 'string' && method !== 'ping';
}
