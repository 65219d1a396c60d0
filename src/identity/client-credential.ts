/**
 * A principal that presents a credential of its own to a backend. It is another principal for each credential: what was
 * obtained with one of them (sessions, lists, pending calls) is never shown to a sender with another one, also where
 * the gateway itself tells senders apart by nothing.
 */
import { digestOf } from './credentials.ts';
import type { Principal } from './principal.ts';

/** Apart from the principal, which is logged, recorded and shown in places. */
const headers = new WeakMap<Principal, string>();

/** `header`: as the client sent it; empty where it sent none. */
export function withCredential(holder: Principal, header: string): Principal {
  const key = JSON.stringify(['credential', holder.key, digestOf(header)]);
  const principal = Object.freeze({ ...holder, key, holder });
  headers.set(principal, header);
  return principal;
}

/** The header `Authorization` for the backend. Undefined where the principal is not one of these. */
export function credentialOf(principal: Principal): string | undefined {
  return headers.get(principal);
}
