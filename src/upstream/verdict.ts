/**
 * What the answer to `server/discover` says about a backend's era. Only a recognised modern answer means modern. An
 * outage or refused credentials say nothing.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions
 */
import { Failure } from '../errors/failure.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import type { ErrorResponse } from '../wire/message.ts';
import { era, isRevision, newest, type Revision, revisions } from '../wire/revisions.ts';
import { member, valueAt } from '../wire/values.ts';
import { type FailureKind, failureOfKind } from './as-failure.ts';
import { codeOf, METHOD_NOT_FOUND, onlyModern, UNSUPPORTED_VERSION } from './codes.ts';
import { readDiscover } from './discovery.ts';
import { failureOfStatus } from './http/verdict.ts';
import type { ProbeAnswer } from './question.ts';

/** `http`: Streamable HTTP. `sse`: HTTP+SSE, which exists in the legacy era only. */
export type Transport = 'stdio' | 'http' | 'sse';

export type Verdict =
  | { readonly kind: 'modern'; readonly discovery: Discovery }
  /** Modern, in a different revision that we support. */
  | { readonly kind: 'retry'; readonly revision: Revision }
  /** `initialize` is to be tried. */
  | { readonly kind: 'legacy' }
  | { readonly kind: 'none'; readonly failure: Failure };

const legacy: Verdict = { kind: 'legacy' };

/** `spoken`: the revisions that may be used with the backend. */
export function judge(answer: ProbeAnswer, transport: Transport, spoken: readonly Revision[] = revisions): Verdict {
  switch (answer.kind) {
    case 'silent':
      // On a pipe, only the server itself can be silent. Behind HTTP it may be any intermediary.
      return transport === 'stdio' ? legacy : none(failureOfKind('backend_timeout', unanswered));
    case 'failed':
      return saysNothing(answer.http?.status, transport, false) ? none(answer.failure) : legacy;
    case 'answered': {
      const { message, http } = answer;
      if (message.kind === 'result') {
        const discovered = readDiscover(message, spoken);
        if (discovered === undefined) return legacy;
        return discovered.discovery === undefined
          ? choose(discovered.versions, spoken)
          : { kind: 'modern', discovery: discovered.discovery };
      }
      const code = codeOf(message);
      if (code === UNSUPPORTED_VERSION) return choose(supportedBy(message), spoken);
      if (onlyModern(code))
        return none(new Failure('backend_invalid', { message: 'The backend refused server/discover' }));
      return saysNothing(http?.status, transport, true) ? none(failureOfStatus(http?.status ?? 0, false)) : legacy;
    }
  }
}

/**
 * Whether the refusal of a POST looks like that of an HTTP+SSE server, which takes none at this address. A modern
 * server explains its refusal; where that is recognised, HTTP+SSE is not tried.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#http%2Bsse-transport-2024-11-05
 */
export function takesNoPosts(answer: ProbeAnswer): boolean {
  if (answer.kind === 'silent') return false;
  const status = answer.http?.status;
  if (status !== 400 && status !== 404 && status !== 405) return false;
  if (answer.kind === 'failed') return true;
  if (answer.message.kind === 'result') return false;
  const code = codeOf(answer.message);
  return code !== METHOD_NOT_FOUND && !onlyModern(code);
}

/**
 * Refused credentials, rate limits and broken proxies do not come from the MCP server. A JSON-RPC error with a plain
 * 500 does: some legacy servers answer so to a request before `initialize`.
 */
export function saysNothing(status: number | undefined, transport: Transport, jsonRpc: boolean): boolean {
  if (status === undefined) return transport === 'http' && !jsonRpc;
  if (status === 401 || status === 403 || status === 407 || status === 408 || status === 429) return true;
  return status >= 500 && !(jsonRpc && status === 500);
}

/** Trusts the versions that a server names: a modern one that both sides support, or else a legacy one. */
function choose(versions: readonly string[], spoken: readonly Revision[]): Verdict {
  const known = versions.filter(isRevision).filter((version) => spoken.includes(version));
  const revision = newest(known, 'modern');
  if (revision !== undefined) return { kind: 'retry', revision };
  if (known.some((one) => era(one) === 'legacy')) return legacy;
  const isNarrowed = revisions.some((one) => !spoken.includes(one));
  const message = `The backend supports no revision that ${isNarrowed ? 'its profile allows' : 'the gateway knows'}`;
  return none(new Failure('backend_invalid', { message, data: { supported: versions } }));
}

function supportedBy({ bytes, error }: ErrorResponse): readonly string[] {
  const span = member(error, 'data');
  const data = span === undefined ? undefined : valueAt(bytes, span);
  if (typeof data !== 'object' || data === null || !('supported' in data) || !Array.isArray(data.supported)) return [];
  return data.supported.filter((version) => typeof version === 'string');
}

const unanswered: FailureKind = {
  why: 'it did not answer server/discover (`limits.probeMs`)',
  cure: 'check that it supports MCP; for a slow server, raise `limits.probeMs`',
};

function none(failure: Failure): Verdict {
  return { kind: 'none', failure };
}
