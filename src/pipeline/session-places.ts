/** Sessions as other processes of this gateway see them: which are here, and what can be done with them elsewhere. */
import type { SentRequest, SessionOrigin, SessionPlaces, SessionRequest } from '../exchange/arrival.ts';
import { readCancelled } from '../exchange/cancelled.ts';
import { memberNamedBy } from '../exchange/member-id.ts';
import type { Batch, Message } from '../wire/message.ts';
import type { Pipeline } from './pipeline.ts';

export class OwnSessions implements SessionPlaces {
  readonly #pipeline: Pipeline;

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
  }

  has(id: string): boolean {
    return this.#pipeline.shared.sessions.has(id);
  }

  get ids(): readonly string[] {
    return this.#pipeline.shared.sessions.all().map(({ id }) => id);
  }

  openedBy({ endpoint, sender, header }: SessionRequest): SessionOrigin | undefined {
    const id = header('mcp-session-id') ?? '';
    const member = memberNamedBy(id);
    return member === undefined
      ? this.#pipeline.continued.openedAnywhere(id, endpoint, sender.principal)
      : { member, until: undefined };
  }

  awaits(id: string, message: Message | Batch): boolean {
    const session = this.#pipeline.shared.sessions.get(id);
    if (session === undefined) return false;
    if (message.kind === 'result' || message.kind === 'error') return session.asks.isOpen(message);
    const cancelled = message.kind === 'notification' ? readCancelled(message) : undefined;
    return cancelled !== undefined && session.inflight.only(cancelled.id) !== undefined;
  }

  async canMove(id: string): Promise<boolean> {
    const session = this.#pipeline.shared.sessions.get(id);
    if (session === undefined || session.seal === undefined) return false;
    return this.#pipeline.continued.mayLoseProcesses(session.endpoint, session.principal);
  }

  canTake({ endpoint, sender: { principal } }: SentRequest): Promise<boolean> {
    return this.#pipeline.continued.mayLoseProcesses(endpoint, principal);
  }

  untilOf(id: string): number | undefined {
    return this.#pipeline.shared.sessions.get(id)?.seal?.until;
  }

  busyUntil(done: Promise<unknown>): void {
    const { work } = this.#pipeline.shared;
    work.begin();
    void done.finally(work.ended).catch(() => undefined);
  }

  release(id: string): void {
    this.#pipeline.shared.sessions.release(id);
  }

  askBeforeExpiry(isElsewhere: (id: string) => Promise<boolean | undefined>): void {
    this.#pipeline.shared.sessions.isElsewhere = isElsewhere;
  }
}
