/**
 * What can change while the server runs: the note, and one extra tool, prompt and resource that come and go.
 * It belongs to the server and not to a connection or a client: lists must not depend on who asked what before
 * (https://modelcontextprotocol.io/specification/2026-07-28/server/tools#capabilities).
 */
import type { JsonObject } from './message.ts';

export const listKinds = ['tools', 'prompts', 'resources'] as const;
export type ListKind = (typeof listKinds)[number];

export type Change =
  | { readonly kind: 'list'; readonly list: ListKind }
  | { readonly kind: 'resource'; readonly uri: string };

export const noteUri = 'demo://note';

export class World {
  #note = 'This note is empty. The tool touch_note writes it.';
  readonly #extras = new Set<ListKind>();
  readonly #listeners = new Set<(change: Change) => void>();

  get note(): string {
    return this.#note;
  }

  write(note: string): void {
    this.#note = note;
    this.#announce({ kind: 'resource', uri: noteUri });
  }

  has(extra: ListKind): boolean {
    return this.#extras.has(extra);
  }

  toggle(extra: ListKind): void {
    if (!this.#extras.delete(extra)) this.#extras.add(extra);
    this.#announce({ kind: 'list', list: extra });
  }

  onChange(listener: (change: Change) => void): { readonly stop: () => void } {
    this.#listeners.add(listener);
    return { stop: () => this.#listeners.delete(listener) };
  }

  #announce(change: Change): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** The notification for a change is the same in both eras; they differ in who gets it, and in its `_meta`. */
export function noticeOf(change: Change): { readonly method: string; readonly params: JsonObject } {
  return change.kind === 'list'
    ? { method: `notifications/${change.list}/list_changed`, params: {} }
    : { method: 'notifications/resources/updated', params: { uri: change.uri } };
}
