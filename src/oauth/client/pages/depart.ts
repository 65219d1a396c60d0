/** Redirects a verified person to the backend's authorization server, and sets the flow's cookie. */
import { Failure } from '../../../errors/failure.ts';
import { type PageResponse, seeOther } from '../../../web/request.ts';
import type { FlowCookies } from '../../flow-cookies.ts';
import { failed, gone } from './outcome-views.ts';
import type { PendingConsents } from './ports.ts';

export interface Departure {
  readonly id: string;
  /** Further cookies to set. */
  readonly cookies?: readonly string[];
}

export async function depart(
  { id, cookies = [] }: Departure,
  consents: PendingConsents,
  flowCookies: FlowCookies,
): Promise<PageResponse> {
  let address: string;
  try {
    address = await consents.authorizationUrl(id);
  } catch (error) {
    return failureView(error, cookies);
  }
  const url = new URL(address);
  // A pushed request (RFC 9126) has no `state` in its URL. Then only `ConsentService` compares the part after the id.
  const state = url.searchParams.get('state') ?? '';
  const cookie = flowCookies.leave({ kind: 'consent', id }, state);
  return seeOther(url.href, { 'set-cookie': [...cookies, cookie] });
}

/** Shows a Failure by its row in the table. Any other error is a bug of ours and is rethrown. */
export function failureView(error: unknown, cookies: readonly string[] = []): PageResponse {
  if (!(error instanceof Failure)) throw error;
  const reason: string = error.reason;
  return reason === 'consent_unknown' ? gone : failed({ reason, text: error.message }, cookies);
}
