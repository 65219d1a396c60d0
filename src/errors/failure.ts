/**
 * Every failure that Bascule can name, in one table. A row gives the HTTP status, the JSON-RPC code per era and who is
 * to blame. Programs match on `reason`, never on the message. `docs/errors.md` is generated from this table.
 */

import { access } from './access.ts';
import { credentials } from './backend-credentials.ts';
import { backends } from './backends.ts';
import { incoming } from './incoming.ts';
import { proxied } from './proxied.ts';
import type { FailureRow } from './row.ts';
import { asks } from './server-requests.ts';
import { sessions } from './sessions.ts';
import { offers } from './unknown-targets.ts';

export type { Blame, FailureRow } from './row.ts';

export const failures = {
  ...incoming,
  ...sessions,
  ...offers,
  ...asks,
  ...access,
  ...backends,
  ...credentials,
  ...proxied,
} satisfies Record<string, FailureRow>;

export type Reason = keyof typeof failures;

export interface FailureDetail {
  /** A more specific message for people. */
  readonly message?: string;
  /** Further members of the error's `data`, besides `reason`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The raw id token of the failed message, if it could be read. It is echoed. */
  readonly id?: string;
  /** Only for the log. */
  readonly cause?: unknown;
  /** What an operator can do about it: a sentence in the imperative, only for operators. */
  readonly cure?: string;
  readonly http?: HttpDetail;
}

/** HTTP details beyond the row: a challenge, or when to retry. */
export interface HttpDetail {
  /** Overrides the row's status. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Without an id to echo, the response has `"id": null`: the `envelope` style of authentication failures requires it.
   */
  readonly nullId?: boolean;
}

/** True if the request itself is wrong: its bytes, its HTTP, its target at the proxy, or the session that it names. */
export function isAboutRequest({ reason }: Failure): boolean {
  return [incoming, sessions, proxied].some((rows) => Object.hasOwn(rows, reason));
}

/** True if the backend is healthy but does not accept one principal's credentials. */
export function isAboutCredentials({ reason }: Failure): boolean {
  return Object.hasOwn(credentials, reason);
}

/** A failure with a row in the table. No other exception should be thrown deliberately. */
export class Failure extends Error {
  readonly reason: Reason;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  readonly id: string | undefined;
  readonly http: HttpDetail | undefined;
  readonly cure: string | undefined;

  constructor(reason: Reason, detail: FailureDetail = {}) {
    super(detail.message ?? failures[reason].message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.name = 'Failure';
    this.reason = reason;
    this.data = detail.data;
    this.id = detail.id;
    this.http = detail.http;
    this.cure = detail.cure;
  }

  get row(): FailureRow {
    return failures[this.reason];
  }
}
