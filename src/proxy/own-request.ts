/**
 * Turns a request at the proxy into a request of the endpoint: its path, and credentials that are for the gateway. From
 * then on there is no difference.
 */
import type { IncomingMessage } from 'node:http';
import type { PresentedCredentials } from '../identity/principal.ts';

export interface OwnRequest extends Pick<PresentedCredentials, 'forBackend'> {
  /** The path of the endpoint. */
  readonly path: string;
  /** Who the sender is. */
  readonly authorization: string | undefined;
  /** A header with which the endpoint would accept a key. */
  readonly keyHeader: string | undefined;
}

/** A name that every listener accepts: what the client sent is the backend's. */
const OWN_HOST = 'localhost';
const ofTheProxy = ['host', 'authorization', 'proxy-authorization', 'proxy-connection'];

export function becomeOwn(req: IncomingMessage, own: OwnRequest): void {
  const { path, authorization, forBackend, keyHeader } = own;
  const dropped = new Set([...ofTheProxy, ...(keyHeader === undefined ? [] : [keyHeader])]);
  const added = ['Host', OWN_HOST, ...(authorization === undefined ? [] : ['Authorization', authorization])];
  const kept = req.rawHeaders.filter((_text, at) => !dropped.has((req.rawHeaders[at - (at % 2)] ?? '').toLowerCase()));
  const headers = Object.entries(req.headers).filter(([name]) => !dropped.has(name));
  req.url = path;
  req.headers = {
    ...Object.fromEntries(headers),
    host: OWN_HOST,
    ...(authorization !== undefined && { authorization }),
  };
  // Node would make these of `rawHeaders`, and of as many as the client has sent.
  const distinct = Object.entries(req.headersDistinct).filter(([name]) => !dropped.has(name));
  req.headersDistinct = {
    ...Object.fromEntries(distinct),
    host: [OWN_HOST],
    ...(authorization !== undefined && { authorization: [authorization] }),
  };
  req.rawHeaders = [...added, ...kept];
  if (forBackend !== undefined) Object.assign(req, { forBackend });
}
