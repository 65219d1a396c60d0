/** Responses to browsers and programs: handlers give plain data, and this file writes it. */
import type { ServerResponse } from 'node:http';
import { type PageParts, page, privateHeaders } from '../../../web/frame.ts';

export interface ShownPage extends PageParts {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export function show(res: ServerResponse, { status, headers = {}, ...parts }: ShownPage): void {
  const { headers: usual, html } = page(parts);
  const body = Buffer.from(html);
  res.writeHead(status, { ...usual, ...headers, 'content-length': String(body.byteLength) });
  res.end(body);
}

/** RFC 9110, 15.4.4: 303, so that the browser does not post again. */
export function leadTo(res: ServerResponse, location: string): void {
  res.writeHead(303, { ...privateHeaders, location, 'content-length': '0' });
  res.end();
}

/** For programs: RFC 6749, 5.2. */
export function tell(
  res: ServerResponse,
  status: number,
  error: { readonly error: string; readonly error_description: string },
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(JSON.stringify(error));
  res.writeHead(status, {
    ...privateHeaders,
    ...headers,
    'content-type': 'application/json',
    'content-length': String(body.byteLength),
  });
  res.end(body);
}

export function waitInWords(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  return minutes <= 1 ? 'a minute' : `${minutes} minutes`;
}

export function retryAfter(ms: number): Readonly<Record<string, string>> {
  return { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))) };
}
