/**
 * Processes that serve lists to client sessions without a process of their own: the one from the probe, and one for
 * each kind of client. They are initialized as the gateway, with the client's capabilities. They get list requests
 * only, and their server requests are refused, because no single client is behind them.
 */
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Discovery, ListProcesses, UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import { canonical } from '../wire/canonical.ts';
import { forUpstream, readCapabilities } from '../wire/capabilities.ts';
import type { Notification } from '../wire/message.ts';
import type { Revision } from '../wire/revisions.ts';
import { changedList, type ListKind, listKinds } from '../wire/subscription-filter.ts';
import type { BackendNotes } from './channel.ts';
import type { TimerClock } from './deadlines.ts';
import { revisionFor } from './handshake.ts';
import type { LegacyUpstreamSession } from './legacy.ts';
import { closeWhenOpen, silent } from './pooled-sessions.ts';

/** An upstream session whose process serves lists. */
type ListUpstreamSession = UpstreamSession & Pick<LegacyUpstreamSession, 'isIdle' | 'keepWhile'>;

export interface ListProcessesOptions {
  /** Initializes a process as the gateway, with the client's capabilities. Rejects with a Failure. */
  open(client: ClientFacts, sink: UpstreamSessionSink): Promise<ListUpstreamSession>;
  /** The newest legacy revision that the backend is known to support; undefined: not known yet. */
  newest(): Revision | undefined;
  /** Revisions that may be used. Absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
  readonly clock: Pick<TimerClock, 'now'>;
  readonly notes: BackendNotes;
}

/**
 * How many kinds of clients have a process at a time. Clients choose freely what they declare, so this needs a limit.
 * Kinds are few at any time, because they are programs, not people.
 */
const KINDS = 4;
/**
 * A process lost sooner than this is likely to be lost again. Clients are not notified then: they would list, and lose
 * the process, in a loop.
 */
const STOOD_MS = 10_000;

interface Running {
  readonly opening: Promise<ListUpstreamSession>;
  readonly since: number;
  /** Whether it served any request. */
  used: boolean;
  upstream?: ListUpstreamSession;
}

type ChangeListener = (key: string, lists: readonly ListKind[]) => void;
type ListChangeListener = (kind: ListKind) => void;

export class LiveListProcesses implements ListProcesses {
  readonly #options: ListProcessesOptions;
  /** Least recently used first. */
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #hearers = new Map<string, Set<ListChangeListener>>();

  constructor(options: ListProcessesOptions) {
    this.#options = options;
  }

  /** A backend agrees on the client's revision, or on its own newest one where that is older. */
  keyOf({ revision, capabilities }: ClientFacts): string {
    const asked = revisionFor(revision, this.#options.revisions);
    const newest = this.#options.newest();
    const agreed = newest !== undefined && newest < asked ? newest : asked;
    return `${agreed} ${canonical(forUpstream(capabilities.raw, agreed))}`;
  }

  open(client: ClientFacts): Promise<UpstreamSession> {
    const key = this.keyOf(client);
    const existing = this.#running.get(key);
    if (existing !== undefined) {
      existing.used = true;
      this.#running.delete(key);
      this.#running.set(key, existing);
      return existing.opening;
    }
    this.#makeRoom();
    const { clock } = this.#options;
    let running: Running | undefined;
    const opening = this.#options.open(
      { ...client, info: undefined },
      this.#sink(key, () => running),
    );
    running = { opening, since: clock.now(), used: true };
    const begun = running;
    this.#running.set(key, begun);
    opening.then(
      (upstream) => this.#stands(key, begun, upstream),
      () => this.#drop(key, begun),
    );
    return opening;
  }

  discoveryFor(client: ClientFacts): Discovery | undefined {
    return this.#running.get(this.keyOf(client))?.upstream?.discovery;
  }

  /** Takes over the process of a probe, which declared no capabilities, unless an equal one is running. */
  adopt(revision: Revision, start: (sink: UpstreamSessionSink) => ListUpstreamSession): void {
    const key = this.keyOf({ revision, info: undefined, capabilities: readCapabilities({}) });
    const before = this.#running.get(key);
    let running: Running | undefined;
    const upstream = start(this.#sink(key, () => running));
    if (before !== undefined && isSame(before.upstream?.discovery, upstream.discovery)) {
      upstream.close();
      return;
    }
    running = { opening: Promise.resolve(upstream), since: this.#options.clock.now(), used: before?.used ?? false };
    this.#running.set(key, running);
    this.#stands(key, running, upstream);
    if (before === undefined) return;
    // The backend's discovery has changed.
    closeWhenOpen(before);
    this.#changed(key, listKinds);
  }

  onChange(listener: ChangeListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  hear(client: ClientFacts, listener: ListChangeListener): () => void {
    const key = this.keyOf(client);
    const hearers = this.#hearers.get(key) ?? new Set();
    this.#hearers.set(key, hearers);
    const own: ListChangeListener = (kind) => listener(kind);
    hearers.add(own);
    return () => {
      hearers.delete(own);
      if (hearers.size === 0 && this.#hearers.get(key) === hearers) this.#hearers.delete(key);
    };
  }

  close(): void {
    for (const running of this.#running.values()) closeWhenOpen(running);
    this.#running.clear();
  }

  #stands(key: string, running: Running, upstream: ListUpstreamSession): void {
    running.upstream = upstream;
    upstream.keepWhile(() => this.#hearers.has(key));
  }

  #sink(key: string, own: () => Running | undefined): UpstreamSessionSink {
    return {
      ...silent,
      notify: (said: Notification) => {
        const kind = changedList(said.method);
        if (kind !== undefined) this.#changed(key, [kind]);
      },
      lost: () => {
        const running = own();
        if (running === undefined || !this.#drop(key, running)) return;
        const stood = this.#options.clock.now() - running.since >= STOOD_MS;
        this.#changed(key, listKinds, stood);
      },
    };
  }

  #drop(key: string, running: Running): boolean {
    if (this.#running.get(key) !== running) return false;
    return this.#running.delete(key);
  }

  /** Ends processes that never served a request; at the limit, the least recently used idle one too. */
  #makeRoom(): void {
    for (const [key, running] of this.#running) if (!running.used && !this.#hearers.has(key)) this.#end(key, running);
    if (this.#running.size < KINDS) return;
    for (const [key, running] of this.#running) {
      if (running.upstream?.isIdle !== true) continue;
      this.#end(key, running);
      return;
    }
    throw new Failure('backend_busy', {
      message: 'Too many different clients request the lists of the backend at once',
    });
  }

  #end(key: string, running: Running): void {
    this.#running.delete(key);
    closeWhenOpen(running);
    // Changes that the process would have announced are lost from here on.
    this.#changed(key, listKinds, false);
  }

  #changed(key: string, lists: readonly ListKind[], isTold = true): void {
    for (const listener of [...this.#listeners]) this.#safely(() => listener(key, lists));
    if (!isTold) return;
    for (const hearer of [...(this.#hearers.get(key) ?? [])])
      for (const kind of lists) this.#safely(() => hearer(kind));
  }

  #safely(action: () => void): void {
    try {
      action();
    } catch (cause) {
      this.#options.notes.odd('fault', 'a change of a list', cause);
    }
  }
}

function isSame(a: Discovery | undefined, b: Discovery): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}
