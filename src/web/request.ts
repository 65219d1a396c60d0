/** Requests and responses of pages as plain data: no page uses a socket. */
import { type Page, page, privateHeaders } from './frame.ts';
import type { Html } from './html.ts';

export interface PageRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names are in lower case. Repeated headers are joined as in node:http. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** The peer of the connection, which may be a proxy. */
  readonly remoteAddress: string | undefined;
  /** The client that a trusted proxy names, or else the peer: what per-address limits count and the log names. */
  readonly clientAddress: string;
}

export interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string;
}

export function shown(status: number, { headers, html }: Page, more: PageResponse['headers'] = {}): PageResponse {
  return { status, headers: { ...headers, ...more }, body: html };
}

export function view(status: number, title: string, body: Html, more?: PageResponse['headers']): PageResponse {
  return shown(status, page({ title, body }), more);
}

/** 303: the browser continues with GET, whatever the method was, and does not repeat the form. */
export function seeOther(location: string, more: PageResponse['headers'] = {}): PageResponse {
  return { status: 303, headers: { ...privateHeaders, ...more, location }, body: '' };
}

/** Undefined if it is not a form. Our forms have each field once; a repeated field is ambiguous and refused. */
export function formOf({ headers, body }: PageRequest): ReadonlyMap<string, string> | undefined {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  return single(new URLSearchParams(Buffer.from(body).toString('utf8')));
}

/** RFC 6749, 3.1: parameters MUST NOT be included more than once. Undefined if one is. */
export function single(parameters: URLSearchParams): ReadonlyMap<string, string> | undefined {
  const fields = new Map(parameters);
  return fields.size === parameters.size ? fields : undefined;
}
