/** Who a request at the proxy is from: `Proxy-Authorization`, which is for the gateway alone and never passed on. */
import { Failure } from '../errors/failure.ts';
import type { PresentedCredentials } from '../identity/principal.ts';

const basic = /^basic +([A-Za-z0-9+/]+=*)$/i;

/** What a key or a token consists of, and more. */
const visible = /^[\x21-\x7e]+$/;

/**
 * The header `Authorization` that says the same at an endpoint. With Basic, which is what most clients can send to a
 * proxy, the password is the key or the token; the user name does not matter. Undefined where there is none. Throws a
 * Failure where there are two.
 */
export function gatewayAuthorization(rawHeaders: readonly string[]): string | undefined {
  const value = onlyHeader(rawHeaders, 'proxy-authorization');
  const encoded = basic.exec(value?.trim() ?? '')?.[1];
  const pair = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const password = pair.slice(pair.indexOf(':') + 1);
  return visible.test(password) ? `Bearer ${password}` : value;
}

/** What the client presents to the backend. Throws a Failure where there are two. */
export function backendAuthorization(rawHeaders: readonly string[]): string | undefined {
  return onlyHeader(rawHeaders, 'authorization');
}

/** What the gateway authenticates by. */
export function presented(
  authorization: string | undefined,
  { socket }: Pick<PresentedCredentials, 'socket'>,
): PresentedCredentials {
  return { rawHeaders: authorization === undefined ? [] : ['Authorization', authorization], socket };
}

/** A refusal of credentials as a proxy says it: RFC 9110, 11.7. */
export function asProxyChallenge(failure: Failure): Failure {
  if (failure.row.status !== 401) return failure;
  const { reason, message, data, cause } = failure;
  const headers = { 'Proxy-Authenticate': 'Basic realm="bascule", Bearer realm="bascule"' };
  return new Failure(reason, { message, ...(data && { data }), cause, http: { status: 407, headers } });
}

function onlyHeader(rawHeaders: readonly string[], wanted: string): string | undefined {
  const values = rawHeaders.filter((_value, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === wanted);
  if (values.length < 2) return values[0];
  throw new Failure('credentials_ambiguous', { message: `The header ${wanted} is repeated` });
}
