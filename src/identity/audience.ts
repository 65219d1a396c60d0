/**
 * Whether a token is meant for us. Addresses are taken apart by hand: the platform's parser also resolves dots, turns
 * backslashes around and drops line breaks, and each of these would make two different audiences equal.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#canonical-server-uri
 */
import { Failure } from '../errors/failure.ts';

const address = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]+)(?::([0-9]*))?(\/[^?#]*)?(\?[^#]*)?$/i;
/** RFC 3986, 2: nothing else stands in an address. */
const legible = /^[\x21-\x7e]+$/;
const defaultPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * Scheme and host folded, the default port dropped, one slash at the end of the path ignored; all else as it is. Undefined
 * where it is no http(s) address, or has a fragment (RFC 8707, 2).
 */
export function canonicalAudience(text: string): string | undefined {
  const match = legible.test(text) ? address.exec(text) : null;
  if (match === null) return undefined;
  const scheme = match[1]!.toLowerCase();
  const port = match[3] === undefined || match[3] === '' ? defaultPorts[scheme]! : Number(match[3]);
  if (port > 65_535) return undefined;
  const path = (match[4] ?? '').replace(/\/$/, '');
  const shownPort = port === defaultPorts[scheme] ? '' : `:${port}`;
  return `${scheme}://${match[2]!.toLowerCase()}${shownPort}${path}${match[5] ?? ''}`;
}

/** What is no address (`api://default`, `my-api`) is compared character by character. */
const comparable = (text: string): string => canonicalAudience(text) ?? text;

export type Audiences = ReadonlySet<string>;

export function audiences(texts: readonly string[]): Audiences {
  return new Set(texts.map(comparable));
}

/** What a token says, made comparable once: undefined where it says nothing. */
export function audienceClaim(aud: unknown): Audiences | undefined {
  if (aud === undefined || aud === null || (Array.isArray(aud) && aud.length === 0)) return undefined;
  const items = Array.isArray(aud) ? aud : [aud];
  return audiences(items.filter((item): item is string => typeof item === 'string'));
}

export interface AudienceRule {
  readonly ours: Audiences;
  readonly mayBeAbsent: boolean;
}

/** Fails closed: a token that shows no audience is for nobody, unless its issuer was vouched for by name. */
export function checkAudience(
  claimed: Audiences | undefined,
  { ours, mayBeAbsent }: AudienceRule,
): Failure | undefined {
  if (claimed === undefined) return mayBeAbsent ? undefined : new Failure('audience_missing');
  for (const audience of claimed) if (ours.has(audience)) return undefined;
  return new Failure('audience_mismatch');
}
