/** Sends a person who has shown who they are to the backend's authorization server, and marks the browser. */
import { Failure } from '../../../errors/failure.ts';
import { type PageResponse, seeOther } from '../../../web/request.ts';
import type { FlowCookies } from './flow-cookies.ts';
import { failed, gone } from './outcome-views.ts';
import type { PendingConsents } from './ports.ts';

export interface Departure {
  readonly id: string;
  /** Further ones to set. */
  readonly cookies?: readonly string[];
}

export async function depart(
  { id, cookies = [] }: Departure,
  consents: PendingConsents,
  travellers: FlowCookies,
): Promise<PageResponse> {
  let address: string;
  try {
    address = await consents.authorizationUrl(id);
  } catch (error) {
    return failureView(error, cookies);
  }
  const url = new URL(address);
  // Pushed requests (RFC 9126) do not have it here; then the port alone compares what follows the id.
  const state = url.searchParams.get('state') ?? '';
  const cookie = travellers.leave({ kind: 'consent', id }, state);
  return seeOther(url.href, { 'set-cookie': [...cookies, cookie] });
}

/** Failures are told by their row. Anything else is a fault of ours, and not told here. */
export function failureView(error: unknown, cookies: readonly string[] = []): PageResponse {
  if (!(error instanceof Failure)) throw error;
  const reason: string = error.reason;
  return reason === 'consent_unknown' ? gone : failed({ reason, text: error.message }, cookies);
}
