/**
 * What a driver program is told (a JSON file, named by its only argument) and what it prints (the last line of its
 * output).
 */

/** `auto`: the newest that both sides have. A driver whose library has one era only ignores it. */
export type Era = 'legacy' | 'modern' | 'auto';

export type Target =
  | { readonly url: string }
  | { readonly command: string; readonly args: readonly string[]; readonly cwd: string; readonly env: Environment };

export type Environment = Readonly<Record<string, string>>;

/** One request; drivers follow `nextCursor` in lists by themselves. */
export interface Step {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** What the driver answers when the server asks: the same every time. */
export interface Answers {
  readonly elicitation: { readonly action: 'accept'; readonly content: Readonly<Record<string, unknown>> };
  readonly sampling: Readonly<Record<string, unknown>>;
  readonly roots: readonly { readonly uri: string; readonly name: string }[];
}

export interface Job {
  readonly target: Target;
  readonly era: Era;
  readonly steps: readonly Step[];
  readonly answers: Answers;
  /**
   * How long the driver listens on after its last step: notifications may come after the result that they belong to.
   */
  readonly settleMs: number;
}

export type Outcome =
  | { readonly result: unknown }
  | { readonly error: { readonly code?: number; readonly message: string; readonly data?: unknown } };

/** What the server sent by itself: a notification or a request. */
export interface Heard {
  readonly method: string;
  readonly params: unknown;
}

export interface Transcript {
  /** Revision, capabilities, server info and instructions, as far as the library shows them. */
  readonly connected: unknown;
  readonly outcomes: readonly Outcome[];
  readonly heard: readonly Heard[];
}
