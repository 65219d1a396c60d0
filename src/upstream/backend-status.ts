/** The state of a backend, and who is told of its changes. */
import type { BackendState } from '../exchange/upstream-session.ts';
import type { BackendNotes } from './channel.ts';

type StateListener = (state: BackendState) => void;

export class BackendStatus {
  readonly #notes: BackendNotes;
  readonly #listeners = new Set<StateListener>();
  #state: BackendState;

  constructor(state: BackendState, notes: BackendNotes) {
    this.#state = state;
    this.#notes = notes;
  }

  get state(): BackendState {
    return this.#state;
  }

  get hearers(): number {
    return this.#listeners.size;
  }

  onChange(listener: StateListener): () => void {
    // Wrap the listener, so that a function registered twice is called twice.
    const own = (state: BackendState) => listener(state);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  become(state: BackendState): void {
    const before = this.#state;
    this.#state = state;
    if (isSame(before, state)) return;
    for (const listener of [...this.#listeners]) {
      try {
        listener(state);
      } catch (cause) {
        this.#notes.odd('fault', 'a change of a backend', cause);
      }
    }
  }
}

function isSame(a: BackendState, b: BackendState): boolean {
  if (a.state === 'ready' && b.state === 'ready') return JSON.stringify(a.discovery) === JSON.stringify(b.discovery);
  if ((a.state === 'down' && b.state === 'down') || (a.state === 'refused' && b.state === 'refused')) {
    const isToldAlike = a.failure.reason === b.failure.reason && a.failure.message === b.failure.message;
    // Report a changed consent page: the URL of the previous one may have expired.
    return isToldAlike && a.failure.data?.url === b.failure.data?.url;
  }
  return a.state === b.state;
}
