/**
 * Where an issuer has its keys.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery#authorization-server-metadata-discovery
 */
import { fetchDocument, IssuerError, type IssuerPorts, isSafeAddress } from './documents.ts';

/** In the order that the specification requires. */
export function metadataAddresses(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const inserted = ['oauth-authorization-server', 'openid-configuration'].map(
    (name) => `${origin}/.well-known/${name}${path}`,
  );
  return path === '' ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`];
}

/** Rejects with an `IssuerError` about the last address. */
export async function discoverJwksUri(issuer: string, outside: IssuerPorts): Promise<string> {
  let last = new IssuerError('no metadata');
  for (const address of metadataAddresses(issuer)) {
    try {
      const metadata = await fetchDocument(address, outside);
      // RFC 8414, 3.3: the issuer must be identical, or the document must not be used.
      if (metadata.issuer !== issuer) throw new IssuerError('the metadata names another issuer');
      const { jwks_uri: uri } = metadata;
      if (typeof uri !== 'string') throw new IssuerError('the metadata names no keys');
      if (!isSafeAddress(uri)) throw new IssuerError('the keys are at an address that is not safe');
      return uri;
    } catch (error) {
      if (!(error instanceof IssuerError)) throw error;
      last = error;
    }
  }
  throw last;
}
