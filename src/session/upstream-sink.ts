/** Receives what one backend sends to a legacy session outside of calls. One object: there is one for every session. */
import { Failure } from '../errors/failure.ts';
import type { ServerRequest } from '../exchange/call.ts';
import type { UpstreamSessionSink } from '../exchange/upstream-session.ts';
import { forwarded } from '../wire/compose.ts';
import type { Notification } from '../wire/message.ts';
import type { Session, SessionUpstream } from './session.ts';

/** An upstream session was lost. `openedAt`: when it was asked for. */
export type UpstreamLost = (session: Session, backend: string, openedAt: number) => void;

export class SessionUpstreamSink implements UpstreamSessionSink {
  /** The upstream session as the client session has it, once it is open. */
  opened: SessionUpstream | undefined = undefined;
  readonly #session: Session;
  readonly #backend: string;
  readonly #openedAt: number;
  readonly #lost: UpstreamLost;

  constructor(session: Session, backend: string, openedAt: number, lost: UpstreamLost) {
    this.#session = session;
    this.#backend = backend;
    this.#openedAt = openedAt;
    this.#lost = lost;
  }

  notify(said: Notification): void {
    const session = this.#session;
    const notification = session.translated(this.#backend, said);
    if (notification === undefined || session.ended || !session.hears(notification)) return;
    if (session.filter?.mayHear(session, this.#backend, notification) === false) return;
    if (notification.method === 'notifications/progress') session.tellProgress(this.#backend, notification);
    else session.tell(forwarded(notification), notification);
  }

  ask(ask: ServerRequest): void {
    const session = this.#session;
    const failure = session.ended
      ? new Failure('ask_not_supported')
      : session.filter?.denyAsk(session, this.#backend, ask);
    if (failure !== undefined) ask.answer({ failure });
    else session.asks.relay(session.named(this.#backend, ask), (message) => session.put(message));
  }

  lost(): void {
    const { upstreams } = this.#session;
    // Ignore a session that has been replaced since, or will be, because its backend was taken out of service.
    if (this.opened !== undefined && upstreams.get(this.#backend) !== this.opened) return;
    upstreams.delete(this.#backend);
    this.#lost(this.#session, this.#backend, this.#openedAt);
  }

  silenced(): void {
    this.#session.silenced?.(this.#backend);
  }
}
