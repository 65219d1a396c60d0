/** The outside, as far as this room needs it; handed in. */

export interface Time {
  /** Milliseconds since 1970 by the machine's clock as it stands now: expiry is about the time of day, not about intervals. */
  now(): number;
  /** Calls back once after `ms`; returns how to prevent that. */
  after(ms: number, action: () => void): () => void;
}

export interface FetchInit {
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
  readonly redirect: 'error';
}

export interface Fetched {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** The platform's own `fetch` is one. */
export type Fetch = (url: string, init: FetchInit) => Promise<Fetched>;

export interface KeyFilePort {
  /** Changes whenever the file does; undefined where there is none. */
  stamp(): string | undefined;
  read(): string;
}

/** For people who run the gateway. Never a secret, never what a client sent. */
export type Warn = (text: string, facts: Readonly<Record<string, unknown>>) => void;
