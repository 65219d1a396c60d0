/** The pages for the end of a flow, or for why it cannot go on, each with what to do next. */
import { html } from '../../../web/html.ts';
import { type PageResponse, view } from '../../../web/request.ts';
import { hostOf } from './ask-view.ts';
import { pageLimits } from './limits.ts';
import type { PendingConsent } from './ports.ts';
import type { Hindrance } from './ways.ts';

const askAgain = html`<p>Repeat in your MCP client what you were doing; it will show you a new link.</p>`;

/** The same page for unknown, used and expired links. */
export const gone = view(
  404,
  'This link is not valid',
  html`<p>It was already used, has expired, or was not created by this gateway.</p>${askAgain}`,
);

/** Names no one: a visitor with a stolen link must not learn whose it is. */
export const wrongPerson = view(
  403,
  'This link is not yours',
  html`<p>It was made for another person, and only that person can use it. No account was connected.</p>
<p>If it came from your own MCP client, sign in with the account, or use the access key, that the client uses. If somebody sent it to you, close the page and tell the operator of this gateway.</p>`,
);

const hindrances: Readonly<Record<Hindrance, PageResponse>> = {
  elsewhere: view(
    403,
    'Open this link on the gateway’s computer',
    html`<p>This link works only in a browser on the computer that the gateway runs on, without a proxy in between.</p>
<p>Open it there. To get links that work on other computers, the operator of the gateway can configure access keys or sign-in, and separate accounts for each person.</p>`,
  ),
  program: view(
    403,
    'This is for a program',
    html`<p>The request came from a program that acts for itself and not for a person, so no person can give consent for it.</p>
<p>The operator of the gateway can configure an account for the MCP server.</p>`,
  ),
  unconfigured: view(
    403,
    'The gateway cannot verify who you are',
    html`<p>This gateway has no sign-in for your account, so it cannot verify that the link is yours. No account was connected.</p>
<p>The operator of the gateway can configure sign-in for the issuer of your account.</p>`,
  ),
};

export function hindered(why: Hindrance): PageResponse {
  return hindrances[why];
}

export const staleForm = view(
  403,
  'Please open the link again',
  html`<p>This form was not sent from a page of this gateway in this browser, or the browser did not keep its cookie. Allow cookies for this address, and open the link once more.</p>`,
);

export const malformed = view(
  400,
  'This request is not valid',
  html`<p>The address or the form was not created by this gateway.</p>${askAgain}`,
);

/** Also shown on reload after success. */
export const unbound = view(
  403,
  'Nothing to finish here',
  html`<p>No connection was started in this browser that this response belongs to. If a page has just told you that the account is connected, everything is fine.</p>
<p>Otherwise, open the link that your MCP client showed you, and finish in the same browser.</p>`,
);

/** RFC 9207, 4: a mix-up attack may have brought the response of a different server. None of its content is shown. */
export const mismatched = view(
  400,
  'This response does not match',
  html`<p class="warn">The response did not come from the authorization server that you were sent to. No data was sent to any server, and no account was connected.</p>
<p>Open the link from your MCP client once more. If this page appears again, stop, and tell the operator of this gateway.</p>`,
);

export function tooManyTries(waitMs: number): PageResponse {
  const seconds = Math.ceil(waitMs / 1000);
  const body = html`<p>Too many wrong keys were entered. This link accepts no keys for another ${Math.ceil(seconds / 60)} minutes.</p>${askAgain}`;
  return view(429, 'Too many tries', body, { 'retry-after': String(seconds) });
}

export function wrongMethod(allow: string): PageResponse {
  const body = html`<p>This address supports only ${allow}.</p>`;
  return view(405, 'Method not allowed', body, { allow });
}

type Cookies = readonly string[];

export function connected({ backend, issuer }: PendingConsent, cookies: Cookies): PageResponse {
  const body = html`<p class="good"><strong>${backend}</strong> may now use your account at <span class="code">${hostOf(issuer)}</span>.</p>
<p>You may close this page and go back to your MCP client.</p>`;
  return view(200, 'Connected', body, { 'set-cookie': cookies });
}

/** The error of a different server. RFC 6749, 4.1.2.1: the text is for developers, so it is shown as a quotation. */
export interface SaidError {
  readonly host: string;
  readonly error: string;
  readonly description?: string | undefined;
}

/** The person or the authorization server refused. */
export function refused({ host, error, description }: SaidError, cookies: Cookies): PageResponse {
  const denied = error === 'access_denied';
  const said = html`<dl>
<div><dt>Error</dt><dd class="code">${cut(error)}</dd></div>
${description !== undefined && html`<div><dt>Description</dt><dd>${cut(description)}</dd></div>`}
</dl>`;
  const body = html`<p>${
    denied
      ? html`You did not grant access at <span class="code">${host}</span>.`
      : html`The authorization server <span class="code">${host}</span> refused the request.`
  } No account was connected.</p>
${said}
${denied ? askAgain : html`<p>Try once more. If it fails again, show this page to the operator of this gateway.</p>`}`;
  return view(400, denied ? 'Not connected' : 'The authorization server refused', body, {
    'set-cookie': cookies,
  });
}

function cut(text: string): string {
  return text.length <= pageLimits.shownChars ? text : `${text.slice(0, pageLimits.shownChars)}…`;
}

/** The flow failed at a different server. `reason` is a row of our failure table, `text` its message. */
export function failed(
  { reason, text }: { readonly reason: string; readonly text: string },
  cookies: Cookies = [],
): PageResponse {
  const body = html`<p>${text}</p>
<dl><div><dt>Reason</dt><dd class="code">${reason}</dd></div></dl>
<p>No account was connected. Try the link once more. If it fails again, show this page to the operator of this gateway.</p>`;
  return view(502, 'The account could not be connected', body, { 'set-cookie': cookies });
}
