/** Where Redis or Valkey is, and how long to wait for it. */
export interface RedisSettings {
  /** `redis:` or `rediss:`, with user and password as they are percent-encoded in a URL. */
  readonly url: string;
  /** Further nodes of the cluster. Absent: a single server. */
  readonly cluster?: readonly string[];
  /** The beginning of every key and channel. */
  readonly prefix: string;
  readonly connectMs: number;
  readonly commandMs: number;
}

/** Without user and password. */
export function shownNodes({ url, cluster = [] }: Pick<RedisSettings, 'url' | 'cluster'>): string {
  return [url, ...cluster].map((text) => new URL(text).host).join(', ');
}
