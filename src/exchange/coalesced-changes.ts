/** Coalesces a burst of changes: they are reported once at its beginning and once at its end. */
import type { Clock } from './clock.ts';

interface RecentChange<News> {
  /** The latest change since the last report. */
  later: { readonly news: News } | undefined;
  readonly stop: () => void;
}

/** `News` is the value that is passed on with a change. */
export class Changes<Kind, News = void> {
  readonly #clock: Pick<Clock, 'after'>;
  readonly #quietMs: number;
  readonly #tell: (kind: Kind, news: News) => void;
  /** Kinds that were reported less than `quietMs` ago. Created with the first change. */
  #recent: Map<Kind, RecentChange<News>> | undefined;

  constructor(clock: Pick<Clock, 'after'>, quietMs: number, tell: (kind: Kind, news: News) => void) {
    this.#clock = clock;
    this.#quietMs = quietMs;
    this.#tell = tell;
  }

  changed(kind: Kind, news: News): void {
    this.#recent ??= new Map();
    const recent = this.#recent.get(kind);
    if (recent !== undefined) {
      recent.later = { news };
      return;
    }
    const stop = this.#clock.after(this.#quietMs, () => this.#quiet(kind));
    this.#recent.set(kind, { later: undefined, stop });
    this.#tell(kind, news);
  }

  /** Reports now what was held back. */
  flush(): void {
    for (const kind of [...(this.#recent?.keys() ?? [])]) {
      this.#recent?.get(kind)?.stop();
      this.#quiet(kind);
    }
  }

  close(): void {
    for (const { stop } of this.#recent?.values() ?? []) stop();
    this.#recent?.clear();
  }

  #quiet(kind: Kind): void {
    const later = this.#recent?.get(kind)?.later;
    this.#recent?.delete(kind);
    if (later !== undefined) this.changed(kind, later.news);
  }
}
