/** Until a session has a process of its own, it hears of list changes from the process that its lists come from. */
import type { ListProcesses } from '../exchange/upstream-session.ts';
import type { Session } from '../session/session.ts';
import type { ListKind } from '../wire/subscription-filter.ts';
import type { SharedServices } from './services.ts';

interface HeardProcesses {
  readonly lists: ListProcesses;
  readonly stop: () => void;
}

export class HeardLists {
  readonly #shared: SharedServices;
  readonly #changed: (session: Session, kind: ListKind) => void;
  /** By backend. */
  readonly #heard = new WeakMap<Session, Map<string, HeardProcesses>>();

  /** `changed`: called for a session that has no upstream session to the backend. */
  constructor(shared: SharedServices, changed: (session: Session, kind: ListKind) => void) {
    this.#shared = shared;
    this.#changed = changed;
  }

  /** The backends whose processes the session hears of. */
  backendsOf(session: Session): readonly string[] {
    return [...(this.#heard.get(session)?.keys() ?? [])];
  }

  hear(session: Session, backend: string): void {
    const lists = this.#shared.upstreams.listsFor(session, backend);
    if (lists === undefined || session.ended) return;
    const heard = this.#heard.get(session) ?? new Map<string, HeardProcesses>();
    this.#heard.set(session, heard);
    const before = heard.get(backend);
    if (before?.lists === lists) return;
    before?.stop();
    // Sessions share the cached lists, so an outdated list must be noticed before any session reads it again.
    this.#shared.listChanges.watch(backend);
    const stop = lists.hear(session.client, (kind) => {
      if (!session.upstreams.has(backend) && !session.ended) this.#changed(session, kind);
    });
    heard.set(backend, { lists, stop });
    if (before === undefined) session.onEnd(() => heard.get(backend)?.stop());
  }
}
