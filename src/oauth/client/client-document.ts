/**
 * Our client ID metadata document. Its URL is our client id at authorization servers.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#client-id-metadata-documents
 */
import { callbackPath, clientDocumentPath } from './settings.ts';

/** Undefined without a public https address: the client id MUST be an https URL. */
export function clientDocument(publicUrl: string) {
  const { protocol, origin } = new URL(publicUrl);
  if (protocol !== 'https:') return undefined;
  return {
    client_id: `${origin}${clientDocumentPath}`,
    client_uri: origin,
    ...clientNature,
    redirect_uris: [redirectUri(publicUrl)],
    token_endpoint_auth_method: 'none',
    application_type: 'web',
  };
}

/** The same for the document and for dynamic registration. We ask for refresh tokens but work without them. */
export const clientNature = {
  client_name: 'Bascule',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
};

export function redirectUri(publicUrl: string): string {
  return `${new URL(publicUrl).origin}${callbackPath}`;
}
