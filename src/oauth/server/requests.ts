/** Rewrites requests before the library sees them. */
import type { IncomingMessage } from 'node:http';
import { paths } from './paths.ts';
import type { Resources } from './resources.ts';
import type { ScopeBook } from './scopes.ts';

/**
 * The library builds URLs from the request's headers. Set them from the issuer, whatever name a proxy used or a client
 * made up.
 */
export function atHome(req: IncomingMessage, issuer: URL): void {
  for (const name of Object.keys(req.headers)) if (name.startsWith('x-forwarded-')) delete req.headers[name];
  req.headers.host = issuer.host;
  req.headers['x-forwarded-proto'] = issuer.protocol.slice(0, -1);
  // `Origin` was checked before this point.
  delete req.headers.origin;
}

export interface AuthorizeParts {
  readonly scopes: ScopeBook;
  readonly resources: Resources;
}

/** Adds the default scope. OAuth lets the server have one, but the library refuses a request without a known scope. */
export function withUsualScope(url: string, { scopes, resources }: AuthorizeParts): string {
  const at = url.indexOf('?');
  const query = new URLSearchParams(at === -1 ? '' : url.slice(at + 1));
  // The library reports a duplicate parameter.
  if (query.getAll('scope').length > 1) return url;
  const named = query.getAll('resource');
  const resource = resources.find(named.length === 0 ? resources.usual : named[0])?.resource;
  query.set('scope', scopes.asked(query.get('scope') ?? undefined, resource));
  return `${paths.authorize}?${query}`;
}

/**
 * Whether a page of a different site posted the form. Browsers send `Sec-Fetch-Site` to trustworthy origins, which all
 * of ours are. A foreign page must not even sign a person in to an account of the attacker.
 */
export function isForeignForm(req: IncomingMessage): boolean {
  const site = req.headers['sec-fetch-site'];
  return req.method === 'POST' && site !== undefined && site !== 'same-origin';
}
