/**
 * Zod schemas for the kinds of values in settings. The message of every schema here is only what it expects:
 * `issues.ts` makes the sentence. No message quotes the value, which may be a secret.
 */
import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { describeRange, type QuantityRange, readQuantity } from './quantity.ts';

/** A map with these keys and no others. `tolerated` keys are accepted without validation, and never suggested. */
export function closed<Shape extends z.ZodRawShape>(expected: string, shape: Shape, tolerated: readonly string[] = []) {
  const ignored = Object.fromEntries(tolerated.map((key) => [key, z.unknown().optional()]));
  return z.strictObject({ ...ignored, ...shape } as Shape, {
    error: (issue) => (issue.code === 'unrecognized_keys' ? listOfKeys(Object.keys(shape)) : expected),
  });
}

const keysPrefix = 'one of: ';
const listOfKeys = (keys: readonly string[]): string => `${keysPrefix}${keys.join(', ')}`;

/** Parses the allowed keys from the message of a `closed` map. */
export function keysOffered(message: string): string[] {
  return message.startsWith(keysPrefix) ? message.slice(keysPrefix.length).split(', ') : [];
}

export function choice<const Values extends readonly string[]>(values: Values) {
  return z.enum(values, { error: values.length === 2 ? values.join(' or ') : `one of: ${values.join(', ')}` });
}

/** Accepts numbers as text, since that is what `${PORT}` gives. */
export function quantity(range: QuantityRange) {
  const expected = describeRange(range);
  return z.union([z.number(), z.string()], { error: expected }).transform((value, context) => {
    const amount = readQuantity(value, range);
    if (amount !== undefined) return amount;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

export const flag = z
  .union([z.boolean(), z.enum(['true', 'false'])], { error: 'true or false' })
  .transform((value) => value === true || value === 'true');

/** The platform refuses zero bytes in arguments and environment variables. */
const withoutZero = /^[^\0]*$/;
const withoutControls = /^[^\p{Cc}]+$/u;

const someText = 'text without control characters';
export const oneLine = z.string({ error: someText }).regex(withoutControls, { error: someText });

const argument = z.string({ error: 'text' }).regex(withoutZero, { error: 'text without zero bytes' });
export const argumentList = z.array(argument, { error: 'a list of arguments' });

const variableName = z.string().regex(/^[^=\0]+$/, { error: 'the name of an environment variable' });
export const environment = z.record(variableName, argument, { error: 'a map of environment variables' });

/** RFC 9110, 5.6.2 and 5.5: a token; visible characters, spaces and tabs. Characters beyond Latin-1 cannot be sent. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, { error: 'the name of an HTTP header' });
const headerText = 'text that fits on one line of an HTTP header';
const headerValue = z.string({ error: headerText }).regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: headerText });
export const headerMap = z.record(headerName, headerValue, { error: 'a map of HTTP headers' });

const anAddress = 'an http:// or https:// address';
export const httpAddress = z.string({ error: anAddress }).superRefine((text, context) => {
  const url = parseUrl(text);
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    context.addIssue({ code: 'custom', message: anAddress });
  } else if (url.username !== '' || url.password !== '') {
    context.addIssue({ code: 'custom', message: 'an address without user name and password: they go into `headers`' });
  }
});

/** RFC 6454, 7: scheme, host and port only. Browser extensions have their own schemes. */
const anOrigin = 'an origin, such as https://app.example or http://localhost:6274';
export const webOrigin = z.string({ error: anOrigin }).transform((text, context) => {
  const written = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@\s*]+$/.test(text) ? parseUrl(text) : undefined;
  if (written !== undefined) return written.origin === 'null' ? text.toLowerCase() : written.origin;
  context.addIssue({ code: 'custom', message: anOrigin });
  return z.NEVER;
});

const hostName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;
const aHost = 'a host name or an IP address';

export const listenHost = z.string({ error: aHost }).transform((text, context) => {
  const host = text.replace(/^\[(.*)\]$/, '$1');
  if (isIPv6(host) || hostName.test(host)) return host.toLowerCase();
  context.addIssue({ code: 'custom', message: aHost });
  return z.NEVER;
});

const aHostHeader = 'a host name as `Host` carries it, with or without a port';
export const hostHeader = z.string({ error: aHostHeader }).transform((text, context) => {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? '';
  const known = host.startsWith('[') ? isIPv6(host.slice(1, -1)) : hostName.test(host);
  if (known && Number(match?.[2] ?? 0) <= 65_535) return text.toLowerCase();
  context.addIssue({ code: 'custom', message: aHostHeader });
  return z.NEVER;
});

export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
