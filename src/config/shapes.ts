/**
 * Zod schemas for the kinds of values in settings. The message of every schema here is only what it expects:
 * `issues.ts` makes the sentence. No message quotes the value, which may be a secret.
 */
import { isIPv6 } from 'node:net';
import * as z from 'zod';
import { describeRange, type QuantityRange, readQuantity } from './quantity.ts';

// Compiling a schema costs more than the one reading of a config that would use it.
z.config({ jitless: true });

/** Makes what only some configs need when it is needed: a large schema takes milliseconds. */
export function once<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

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

/** Text that passes a test. */
export function text(expected: string, test: RegExp | ((text: string) => boolean)) {
  const passes = test instanceof RegExp ? (given: string) => test.test(given) : test;
  return z.string({ error: expected }).refine(passes, { error: expected });
}

/** Text that is read as something else. */
export function textAs<Value>(expected: string, read: (text: string) => Value | undefined) {
  return z.string({ error: expected }).transform(orIssue(expected, read));
}

function orIssue<Given, Value>(expected: string, read: (given: Given) => Value | undefined) {
  return (given: Given, context: z.core.$RefinementCtx): Value => {
    const value = read(given);
    if (value !== undefined) return value;
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  };
}

/** A list of at least one item: an empty one would look as if it allowed all, and allow nothing. */
export function someOf<Item extends z.ZodType>(item: Item, what: string, one: string) {
  return z.array(item, { error: `a list of ${what}` }).min(1, { error: `at least one ${one}` });
}

/** Accepts numbers as text, since that is what `${PORT}` gives. */
export function quantity(range: QuantityRange) {
  const expected = describeRange(range);
  return z
    .union([z.number(), z.string()], { error: expected })
    .transform(orIssue(expected, (value) => readQuantity(value, range)));
}

export const flag = z
  .union([z.boolean(), z.enum(['true', 'false'])], { error: 'true or false' })
  .transform((value) => value === true || value === 'true');

export const oneLine = text('text without control characters', /^[^\p{Cc}]+$/u);

/** The platform refuses zero bytes in arguments and environment variables. */
const argument = z.string({ error: 'text' }).regex(/^[^\0]*$/, { error: 'text without zero bytes' });
export const argumentList = z.array(argument, { error: 'a list of arguments' });

const variableName = text('the name of an environment variable', /^[^=\0]+$/);
export const environment = z.record(variableName, argument, { error: 'a map of environment variables' });

/** RFC 9110, 5.6.2 and 5.5: a token; visible characters, spaces and tabs. Characters beyond Latin-1 cannot be sent. */
export const headerToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerName = text('the name of an HTTP header', headerToken);
const headerValue = text('text that fits on one line of an HTTP header', /^[\t\x20-\x7e\x80-\xff]*$/);
export const headerMap = z.record(headerName, headerValue, { error: 'a map of HTTP headers' });

export const httpAddress = text('an http:// or https:// address', (text) =>
  ['http:', 'https:'].includes(parseUrl(text)?.protocol ?? ''),
).refine((text) => !parseUrl(text)?.username && !parseUrl(text)?.password, {
  error: 'an address without user name and password: they go into `headers`',
});

/** RFC 6454, 7: scheme, host and port only. Browser extensions have their own schemes. */
export const webOrigin = textAs('an origin, such as https://app.example or http://localhost:6274', (text) => {
  const written = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#@\s*]+$/.test(text) ? parseUrl(text) : undefined;
  return written?.origin === 'null' ? text.toLowerCase() : written?.origin;
});

const hostName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?$/;

export const listenHost = textAs('a host name or an IP address', (text) => {
  const host = text.replace(/^\[(.*)\]$/, '$1');
  return isIPv6(host) || hostName.test(host) ? host.toLowerCase() : undefined;
});

export const hostHeader = textAs('a host name as `Host` carries it, with or without a port', (text) => {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text);
  const host = match?.[1] ?? '';
  const known = host.startsWith('[') ? isIPv6(host.slice(1, -1)) : hostName.test(host);
  return known && Number(match?.[2] ?? 0) <= 65_535 ? text.toLowerCase() : undefined;
});

/** Headers that the gateway writes on every request by the rules of MCP or HTTP. A config cannot know their values. */
export const gatewayHeaders: ReadonlySet<string> = new Set([
  ...['accept', 'content-type', 'content-length', 'connection', 'transfer-encoding', 'keep-alive', 'upgrade', 'te'],
  ...['trailer', 'expect', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'],
]);

export function parseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}

/** Where to listen, as one text. */
export function addressWithPort(example: string) {
  return textAs(`an address with a port, such as ${example}`, (text): { host: string; port: number } | undefined => {
    const [, named = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text) ?? [];
    const host = listenHost.safeParse(named);
    const port = Number(digits);
    return host.success && port <= 65_535 ? { host: host.data, port } : undefined;
  });
}
