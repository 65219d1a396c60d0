/** The ports of this folder. */

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

/** The platform's `fetch` fits. */
export type Fetch = (url: string, init: FetchInit) => Promise<Fetched>;

export interface KeyFilePort {
  /** Changes whenever the file does; undefined if there is no file. */
  stamp(): string | undefined;
  read(): string;
}
