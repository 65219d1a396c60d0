/**
 * Every failure that Bascule can name. One table: the boundary reads a row and knows the HTTP status, the JSON-RPC code
 * per era and who is to blame; programs match on `reason`, never on the message. `docs/errors.md` is written from here.
 */

import { access } from './access.ts';
import { asks } from './asks.ts';
import { backends } from './backends.ts';
import { credentials } from './credentials.ts';
import { incoming } from './incoming.ts';
import { jsonRpc } from './json-rpc.ts';
import { offers } from './offers.ts';
import type { FailureRow } from './row.ts';
import { sessions } from './sessions.ts';

export type { Blame, FailureRow } from './row.ts';

export const failures = {
  ...incoming,
  ...jsonRpc,
  ...sessions,
  ...offers,
  ...asks,
  ...access,
  ...backends,
  ...credentials,
} as const satisfies Record<string, FailureRow>;

export type Reason = keyof typeof failures;

export interface FailureDetail {
  /** A more specific text for people. */
  readonly message?: string;
  /** Further members of the error's `data`, next to `reason`. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** The raw id token of the message that failed, where it could be read; it is echoed. */
  readonly id?: string;
  /** For the log alone. */
  readonly cause?: unknown;
  /** What the people who run the gateway can do about it: a sentence in the imperative, for them alone. */
  readonly cure?: string;
  readonly http?: HttpDetail;
}

/** What HTTP says of a failure beyond its row: a challenge, when to come back. */
export interface HttpDetail {
  /** In the place of the row's. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where there is no id to echo, the answer says `"id": null`: one style of telling that credentials are missing has it so. */
  readonly nullId?: boolean;
}

/** It is not the backend that is unwell: what we present to it does not do, for one principal. */
export function isAboutCredentials({ reason }: Failure): boolean {
  return Object.hasOwn(credentials, reason);
}

/** A failure that has a row in the table. Nothing else should be thrown on purpose. */
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
