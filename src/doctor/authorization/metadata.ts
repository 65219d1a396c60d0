/**
 * The documents that lead from a 401 to an authorization server, read as a strict client reads them. What is wrong with
 * a document is named, with its bytes.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/authorization-server-discovery
 */
import { canonical, isPartOf, placesOf } from '../../oauth/client/discovery.ts';
import { isIssuer } from '../../oauth/client/server-metadata.ts';
import { metadataAddresses } from '../../oauth/well-known.ts';
import { exchange } from '../peer/http.ts';
import { type Bytes, type JsonObject, objectIn, type PeerFault, parsed } from '../peer/reply.ts';
import type { SecretMask } from '../peer/secrets.ts';

export interface ResourceFacts {
  /** Where the document is. */
  readonly from: string;
  readonly resource: string;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[] | undefined;
}

export interface ServerFacts {
  readonly from: string;
  readonly issuer: string;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly registrationEndpoint: string | undefined;
  readonly takesDocuments: boolean;
  readonly sendsIssuer: boolean;
}

export interface Fetching {
  readonly timeoutMs: number;
  readonly secrets: SecretMask;
}

/** The facts in a document; or what is wrong, with the bytes. */
export type DocumentRead<T> =
  | { readonly facts: T; readonly fault?: undefined; readonly bytes: Bytes }
  | { readonly facts?: undefined; readonly fault: PeerFault; readonly bytes: Bytes };

/** `named` is the address in the challenge. */
export async function readResourceMetadata(
  url: string,
  named: string | undefined,
  fetching: Fetching,
): Promise<DocumentRead<ResourceFacts>> {
  if (named !== undefined && !URL.canParse(named)) {
    const detail = `the challenge names no address: ${named.slice(0, 100)}`;
    return { fault: { finding: 'resource_metadata_missing', detail }, bytes: { sent: '', received: '' } };
  }
  const found = await firstDocument(named === undefined ? placesOf(url) : [named], fetching);
  const { document, from, bytes } = found;
  if (document === undefined) return { fault: { finding: 'resource_metadata_missing', detail: found.why }, bytes };
  const refuse = (finding: PeerFault['finding'], detail: string) => ({ fault: { finding, detail }, bytes });
  const { resource } = document;
  const issuers = texts(document.authorization_servers);
  if (typeof resource !== 'string') return refuse('resource_metadata_malformed', '`resource` is missing');
  if (!isPartOf(url, resource))
    return refuse('other_resource', `\`resource\` is ${resource}, and the address is ${canonical(url)}`);
  if (issuers === undefined || issuers.length === 0 || !issuers.every((issuer) => URL.canParse(issuer)))
    return refuse('resource_metadata_malformed', '`authorization_servers` names no address');
  return { facts: { from, resource, issuers, scopes: texts(document.scopes_supported) }, bytes };
}

export async function readServerMetadata(issuer: string, fetching: Fetching): Promise<DocumentRead<ServerFacts>> {
  const found = await firstDocument(metadataAddresses(issuer), fetching);
  const { document, from, bytes } = found;
  if (document === undefined) return { fault: { finding: 'server_metadata_missing', detail: found.why }, bytes };
  const refuse = (finding: PeerFault['finding'], detail: string) => ({ fault: { finding, detail }, bytes });
  const [said, authorizationEndpoint, tokenEndpoint] = ['issuer', 'authorization_endpoint', 'token_endpoint'].map(
    (name) => textIn(document, name),
  );
  if (said === undefined) return refuse('server_metadata_malformed', '`issuer` is missing');
  if (!isIssuer(issuer, said)) return refuse('other_issuer', `\`issuer\` is ${said}, and ${issuer} was asked`);
  if (authorizationEndpoint === undefined || tokenEndpoint === undefined)
    return refuse('server_metadata_malformed', '`authorization_endpoint` or `token_endpoint` is no address');
  const methods = texts(document.code_challenge_methods_supported);
  if (methods?.includes('S256') !== true)
    return refuse('pkce_missing', `\`code_challenge_methods_supported\` is ${JSON.stringify(methods) ?? 'missing'}`);
  return {
    facts: {
      ...{ from, issuer: said, authorizationEndpoint, tokenEndpoint },
      registrationEndpoint: textIn(document, 'registration_endpoint'),
      takesDocuments: document.client_id_metadata_document_supported === true,
      sendsIssuer: document.authorization_response_iss_parameter_supported === true,
    },
    bytes,
  };
}

interface Found {
  readonly document: JsonObject | undefined;
  readonly from: string;
  readonly why: string;
  readonly bytes: Bytes;
}

/** The first address with a JSON object. The user's headers are not sent: the addresses are the server's choice. */
async function firstDocument(addresses: readonly string[], { timeoutMs, secrets }: Fetching): Promise<Found> {
  const tried: string[] = [];
  let bytes: Bytes = { sent: '', received: '' };
  for (const url of addresses) {
    const reply = await exchange(
      { method: 'GET', url, headers: { accept: 'application/json' } },
      { timeoutMs, secrets },
    );
    bytes = reply.bytes;
    const document = reply.http?.status === 200 ? objectIn(parsed(reply.http.body)?.value) : undefined;
    if (document !== undefined) return { document, from: url, why: '', bytes };
    const status = reply.http === undefined ? (reply.fault?.detail ?? 'nothing') : `HTTP ${reply.http.status}`;
    tried.push(`${url} (${reply.http?.status === 200 ? 'no JSON object' : status})`);
  }
  return { document: undefined, from: '', why: `tried ${tried.join(', ')}`, bytes };
}

function texts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? value : undefined;
}

function textIn(document: JsonObject, name: string): string | undefined {
  const value = document[name];
  if (typeof value !== 'string') return undefined;
  return URL.canParse(value) ? value : undefined;
}
