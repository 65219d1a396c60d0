/** One check: a requirement of the catalogue that can be seen from outside, and how it is looked at. */
import { era, type Revision, revisions } from '../../wire/revisions.ts';
import type { HttpPeer } from '../peer/http.ts';
import type { Peer } from '../peer/peer.ts';
import { type Bytes, codeOf, type PeerReply, summary } from '../peer/reply.ts';
import type { StdioPeer } from '../peer/stdio.ts';
import type { Talk } from '../talk.ts';
import type { Lab } from './lab.ts';

export type CheckVerdict =
  | { readonly outcome: 'held' }
  | { readonly outcome: 'broken'; readonly found: string; readonly bytes: Bytes }
  | { readonly outcome: 'not-applicable' | 'not-tested'; readonly reason: string };

export interface CheckRow {
  /** An id of docs/requirements.md; a part of that requirement after `#`. */
  readonly id: string;
  readonly behaviour: string;
  /** A section below https://modelcontextprotocol.io/specification/, or a whole address. */
  readonly spec: string;
  /** What the specification says: MUST, or SHOULD and weaker. */
  readonly level: 'must' | 'should';
  readonly revisions: readonly Revision[];
}

/** A check of a conversation. */
export interface TalkCheck<P extends Peer = Peer> extends CheckRow {
  run(talk: Talk<P>, lab: Lab): Promise<CheckVerdict>;
}

export type HttpCheck = TalkCheck<HttpPeer>;
export type StdioCheck = TalkCheck<StdioPeer>;

export const all: readonly Revision[] = revisions;
export const legacy: readonly Revision[] = revisions.filter((revision) => era(revision) === 'legacy');
export const modern: readonly Revision[] = revisions.filter((revision) => era(revision) === 'modern');
/** Legacy revisions with the version header, and without batches. */
export const withVersionHeader: readonly Revision[] = ['2025-06-18', '2025-11-25'];

export const codes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

export const held: CheckVerdict = { outcome: 'held' };

export function broken(reply: PeerReply, found = summary(reply)): CheckVerdict {
  return { outcome: 'broken', found, bytes: reply.bytes };
}

export function notApplicable(reason: string): CheckVerdict {
  return { outcome: 'not-applicable', reason };
}

export function notTested(reason: string): CheckVerdict {
  return { outcome: 'not-tested', reason };
}

/** Held where there is no complaint. */
export function unless(complaint: string | undefined | false, reply: PeerReply): CheckVerdict {
  return complaint === undefined || complaint === false ? held : broken(reply, complaint);
}

interface ExpectedError {
  readonly codes: readonly number[];
  /** Over HTTP. */
  readonly status?: number | undefined;
}

/** An error response of the right form, with one of these codes. */
export function expectError(reply: PeerReply, { codes: allowed, status }: ExpectedError): CheckVerdict {
  const { answer, http } = reply;
  if (answer?.error === undefined) return broken(reply, `${summary(reply)}; expected an error ${allowed.join(' or ')}`);
  const code = codeOf(reply);
  if (!Number.isInteger(code) || typeof answer.error.message !== 'string')
    return broken(reply, 'the error has no integer `code` or no `message`');
  if (code === undefined || !allowed.includes(code))
    return broken(reply, `${summary(reply)}; expected ${allowed.join(' or ')}`);
  if (status !== undefined && http !== undefined && http.status !== status)
    return broken(reply, `${summary(reply)}; expected HTTP ${status}`);
  return held;
}

/** A result, whatever it holds. */
export function expectResult(reply: PeerReply): CheckVerdict {
  return reply.answer?.result === undefined ? broken(reply, `${summary(reply)}; expected a result`) : held;
}

/** Refused in any way: an HTTP error, or a JSON-RPC error. */
export function expectRefusal(reply: PeerReply): CheckVerdict {
  const isRefused = reply.answer?.error !== undefined || (reply.http?.status ?? 0) >= 400;
  return isRefused ? held : broken(reply, `${summary(reply)}; expected a refusal`);
}

/** An HTTP status. */
export function expectStatus(reply: PeerReply, allowed: readonly number[]): CheckVerdict {
  const status = reply.http?.status;
  const isRight = status !== undefined && allowed.includes(status);
  return isRight ? held : broken(reply, `${summary(reply)}; expected HTTP ${allowed.join(' or ')}`);
}
