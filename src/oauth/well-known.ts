/** Where metadata documents are, and what every one of them is. */

/** The suffix goes between host and path (RFC 8414, 3.1; RFC 9728, 3.1). */
export function wellKnown(address: string, suffix: string): string {
  const { origin, pathname } = new URL(address);
  return `${origin}/.well-known/${suffix}${pathname === '/' ? '' : pathname}`;
}

/**
 * The addresses of an issuer's metadata, in the order that the specification requires: RFC 8414 before OpenID, and for
 * an issuer with a path OpenID in both forms that are in use. RFC 8414, 3.1: a slash at the end is removed.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
 */
export function metadataAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const bare = `${origin}${path}`;
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map((suffix) => wellKnown(bare, suffix));
  return path === '' ? inserted : [...inserted, `${bare}/.well-known/openid-configuration`];
}

/** `refuse` makes the error from what is wrong with the document. */
export function documentIn(text: string, refuse: (why: string) => Error): Readonly<Record<string, unknown>> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw refuse('is not JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw refuse('is no object');
  return json as Readonly<Record<string, unknown>>;
}
