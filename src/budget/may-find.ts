/** Whether a principal may use `find_tools` at an endpoint. */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import type { Authorizer } from '../policy/authorizer.ts';
import { findToolsRow } from './find-tools.ts';

export function mayFind(authorizer: Authorizer, endpoint: Endpoint, principal: Principal): boolean {
  const backend = endpoint.backends.length === 1 ? (endpoint.backends[0] ?? '') : '';
  return authorizer.may({ principal, endpoint, row: findToolsRow, backend, revision: undefined }) !== undefined;
}
