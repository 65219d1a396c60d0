/**
 * Checks that a token is meant for us. Addresses are parsed by hand: the platform's parser also resolves dots, converts
 * backslashes and drops line breaks, and each of these would make two different audiences equal.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#canonical-server-uri
 */
import { Failure } from '../errors/failure.ts';

const address = /^(https?):\/\/(\[[0-9a-f:.]+\]|[a-z0-9._~%!$&'()*+,;=-]+)(?::([0-9]*))?(\/[^?#]*)?(\?[^#]*)?$/i;
/** RFC 3986, 2: the only characters in an address. */
const legible = /^[\x21-\x7e]+$/;
const defaultPorts: Readonly<Record<string, number>> = { http: 80, https: 443 };

/**
 * Lower-cases scheme and host, drops the default port, ignores one slash at the end of the path, and keeps the rest.
 * Undefined if it is not an http(s) address, or has a fragment (RFC 8707, 2).
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

/** An audience that is not an address (`api://default`, `my-api`) is compared character by character. */
const comparable = (text: string): string => canonicalAudience(text) ?? text;

export type Audiences = ReadonlySet<string>;

export function audiences(texts: readonly string[]): Audiences {
  return new Set(texts.map(comparable));
}

/** A token's audience, made comparable once; undefined if the token has none. */
export function audienceClaim(aud: unknown): Audiences | undefined {
  if (aud === undefined || aud === null || (Array.isArray(aud) && aud.length === 0)) return undefined;
  const items = Array.isArray(aud) ? aud : [aud];
  return audiences(items.filter((item): item is string => typeof item === 'string'));
}

export interface AudienceRule {
  readonly ours: Audiences;
  readonly mayBeAbsent: boolean;
}

/** Fails closed: a token without an audience is refused, unless its issuer is configured to allow that. */
export function checkAudience(
  claimed: Audiences | undefined,
  { ours, mayBeAbsent }: AudienceRule,
): Failure | undefined {
  if (claimed === undefined) return mayBeAbsent ? undefined : new Failure('audience_missing');
  for (const audience of claimed) if (ours.has(audience)) return undefined;
  return new Failure('audience_mismatch');
}
