/** What is changed about a request before the library sees it. */
import type { IncomingMessage } from 'node:http';
import { paths } from './paths.ts';
import type { Resources } from './resources.ts';
import type { ScopeBook } from './scopes.ts';

/**
 * The library makes addresses of what it is told about the request. We know where we are: by the issuer's address, whatever
 * name a proxy used or a client made up.
 */
export function atHome(req: IncomingMessage, issuer: URL): void {
  for (const name of Object.keys(req.headers)) if (name.startsWith('x-forwarded-')) delete req.headers[name];
  req.headers.host = issuer.host;
  req.headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
  // Who may ask from a browser page was decided before.
  delete req.headers.origin;
}

export interface AuthorizeParts {
  readonly scopes: ScopeBook;
  readonly resources: Resources;
}

/** The library refuses a request that asks for nothing it knows, where OAuth lets the server have a default. */
export function withUsualScope(url: string, { scopes, resources }: AuthorizeParts): string {
  const at = url.indexOf('?');
  const query = new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
  // Twice is a mistake that the library tells.
  if (query.getAll('scope').length > 1) return url;
  const named = query.getAll('resource');
  const resource = resources.find(named.length === 0 ? resources.usual : named[0])?.resource;
  query.set('scope', scopes.asked(query.get('scope') ?? undefined, resource));
  return `${paths.authorize}?${query}`;
}

/**
 * Whether a page of another site posted it. Browsers say so where the connection can be trusted, which is wherever we serve;
 * somebody else's page must not even sign a person in, as somebody else.
 */
export function isForeignForm(req: IncomingMessage): boolean {
  const site = req.headers['sec-fetch-site'];
  return req.method === 'POST' && site !== undefined && site !== 'same-origin';
}
