/**
 * Processes that serve lists to client sessions which have none of their own: the one that the backend was probed with, and one
 * for each kind of client that comes. They are introduced as the gateway's own with what the client declares; they get lists
 * to answer and nothing else, and what they ask in return is refused, since they speak to nobody in particular.
 */
import { Failure } from '../errors/failure.ts';
import type { ClientFacts } from '../exchange/call.ts';
import type { Discovery, ListProcesses, UpstreamSession, UpstreamSessionSink } from '../exchange/upstream-session.ts';
import { canonical } from '../wire/canonical.ts';
import { forUpstream, readCapabilities } from '../wire/capabilities.ts';
import type { Notification } from '../wire/message.ts';
import type { Revision } from '../wire/revisions.ts';
import { changedList, type ListKind, listKinds } from '../wire/subscription-filter.ts';
import type { TimerClock } from './deadlines.ts';
import { revisionFor } from './handshake.ts';
import type { BackendNotes } from './notes.ts';

/** A lane whose process serves lists. */
export interface ListLane extends UpstreamSession {
  readonly isIdle: boolean;
  keepWhile(wanted: () => boolean): void;
}

export interface ListProcessesOptions {
  /** Introduces the gateway with what the client declares. Rejects with a Failure. */
  open(client: ClientFacts, sink: UpstreamSessionSink): Promise<ListLane>;
  /** The newest legacy revision that the backend was found to speak; undefined: not known yet. */
  newest(): Revision | undefined;
  /** Which may be spoken to it; absent: all. */
  readonly revisions?: readonly Revision[] | undefined;
  readonly clock: Pick<TimerClock, 'now'>;
  readonly notes: BackendNotes;
}

/**
 * Kinds of clients that have a process at a time: what a client declares is up to it. Those that are about at the same time are
 * few, since they are programs, not people.
 */
const KINDS = 4;
/** One that was lost sooner would be lost again: clients that are told would list, and lose it, without end. */
const STOOD_MS = 10_000;

interface Running {
  readonly opening: Promise<ListLane>;
  readonly since: number;
  /** Whether anybody was served. */
  used: boolean;
  upstream?: ListLane;
}

type ChangeListener = (key: string, lists: readonly ListKind[]) => void;
type ListChangeListener = (kind: ListKind) => void;

export class LiveListProcesses implements ListProcesses {
  readonly #options: ListProcessesOptions;
  /** In the order of use. */
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<ChangeListener>();
  readonly #hearers = new Map<string, Set<ListChangeListener>>();

  constructor(options: ListProcessesOptions) {
    this.#options = options;
  }

  /** A backend agrees on the client's revision, or on its own newest where that is older. */
  keyOf({ revision, capabilities }: ClientFacts): string {
    const asked = revisionFor(revision, this.#options.revisions);
    const newest = this.#options.newest();
    const agreed = newest !== undefined && newest < asked ? newest : asked;
    return `${agreed} ${canonical(forUpstream(capabilities.raw))}`;
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

  /** Goes on with the process of a probe, which declared nothing, unless there is one like it already. */
  adopt(revision: Revision, start: (sink: UpstreamSessionSink) => ListLane): void {
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
    // The backend is another than it was.
    close(before);
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
    for (const running of this.#running.values()) close(running);
    this.#running.clear();
  }

  #stands(key: string, running: Running, upstream: ListLane): void {
    running.upstream = upstream;
    upstream.keepWhile(() => this.#hearers.has(key));
  }

  #sink(key: string, own: () => Running | undefined): UpstreamSessionSink {
    return {
      notify: (said: Notification) => {
        const kind = changedList(said.method);
        if (kind !== undefined) this.#changed(key, [kind]);
      },
      ask: (ask) => ask.answer({ failure: new Failure('ask_not_supported') }),
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

  /** One that nobody was ever served by goes first, then the one that was used least recently. */
  #makeRoom(): void {
    for (const [key, running] of this.#running) if (!running.used && !this.#hearers.has(key)) this.#end(key, running);
    if (this.#running.size < KINDS) return;
    for (const [key, running] of this.#running) {
      if (running.upstream?.isIdle !== true) continue;
      this.#end(key, running);
      return;
    }
    throw new Failure('backend_busy', { message: 'Too many kinds of clients list what the backend has at once' });
  }

  #end(key: string, running: Running): void {
    this.#running.delete(key);
    close(running);
    // What it would have told is not told any more.
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

function close({ opening }: Running): void {
  opening.then(
    (upstream) => upstream.close(),
    () => undefined,
  );
}

function isSame(a: Discovery | undefined, b: Discovery): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}
