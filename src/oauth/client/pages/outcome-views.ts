/** The pages for the end of a flow, or for why it cannot go on, each with what to do next. */
import { page } from '../../../web/frame.ts';
import { html } from '../../../web/html.ts';
import { type PageResponse, shown } from '../../../web/request.ts';
import { hostOf } from './ask-view.ts';
import { pageLimits } from './limits.ts';
import type { PendingConsent } from './ports.ts';
import type { Hindrance } from './ways.ts';

const askAgain = html`<p>Ask your MCP client to do again what it was doing; it will show you a new link.</p>`;

/** The same page for unknown, used and expired links. */
export const gone = shown(
  404,
  page({
    title: 'This link leads nowhere',
    body: html`<p>It was used already, its time is over, or it never was one of ours.</p>${askAgain}`,
  }),
);

/** Names no one: a visitor with a stolen link must not learn whose it is. */
export const wrongPerson = shown(
  403,
  page({
    title: 'This link is not yours',
    body: html`<p>It was made for somebody else, and only they can use it. Nothing was connected.</p>
<p>If it came from your own MCP client, sign in with the account, or use the access key, that the client uses. If somebody sent it to you, close the page and tell whoever runs this gateway.</p>`,
  }),
);

const hindrances: Readonly<Record<Hindrance, PageResponse>> = {
  elsewhere: shown(
    403,
    page({
      title: 'Only at the computer itself',
      body: html`<p>This link is for whoever sits at the computer that the gateway runs on. It works only in a browser there, with no proxy between.</p>
<p>Open it there. For links that work from elsewhere, whoever runs the gateway can give people access keys or set up sign-in, and let each connect an account of their own.</p>`,
    }),
  ),
  program: shown(
    403,
    page({
      title: 'This is for a program',
      body: html`<p>What asked is a program that acts for itself, not for a person, so there is nobody who could allow this here.</p>
<p>Whoever runs the gateway can give the MCP server an account of its own in the configuration.</p>`,
    }),
  ),
  unconfigured: shown(
    403,
    page({
      title: 'We cannot tell who you are',
      body: html`<p>This gateway has no way to let you show in a browser that the link is yours. Nothing was connected.</p>
<p>Whoever runs the gateway can set up sign-in for the issuer of your account.</p>`,
    }),
  ),
};

export function hindered(why: Hindrance): PageResponse {
  return hindrances[why];
}

export const staleForm = shown(
  403,
  page({
    title: 'Please open the link again',
    body: html`<p>This form was not sent by a page that we showed in this browser, or the browser kept no cookie. Allow cookies for this address, and open the link once more.</p>`,
  }),
);

export const malformed = shown(
  400,
  page({
    title: 'We do not understand that',
    body: html`<p>The address or the form is not one that we made.</p>${askAgain}`,
  }),
);

/** Also shown on reload after success. */
export const unbound = shown(
  403,
  page({
    title: 'Nothing to finish here',
    body: html`<p>No connection is under way in this browser that this answer belongs to. If you have just been told that you are connected, all is well.</p>
<p>Otherwise open the link that your MCP client showed you, and finish in the same browser.</p>`,
  }),
);

/** RFC 9207, 4: a mix-up attack may have brought the response of a different server. None of its content is shown. */
export const mismatched = shown(
  400,
  page({
    title: 'This answer does not fit',
    body: html`<p class="warn">What came back is not the answer of the authorization server that you were sent to. Nothing was sent on, and nothing was connected.</p>
<p>Open the link from your MCP client once more. If this page comes again, do not go on, and tell whoever runs this gateway.</p>`,
  }),
);

export function tooManyTries(waitMs: number): PageResponse {
  const seconds = Math.ceil(waitMs / 1000);
  const body = html`<p>Too many wrong keys were tried. This link takes none for another ${Math.ceil(seconds / 60)} minutes.</p>${askAgain}`;
  return shown(429, page({ title: 'Too many tries', body }), { 'retry-after': String(seconds) });
}

export function wrongMethod(allow: string): PageResponse {
  const body = html`<p>This address takes ${allow} only.</p>`;
  return shown(405, page({ title: 'Not like this', body }), { allow });
}

type Cookies = readonly string[];

export function connected({ backend, issuer }: PendingConsent, cookies: Cookies): PageResponse {
  const body = html`<p class="good"><strong>${backend}</strong> may now use your account at <span class="code">${hostOf(issuer)}</span>.</p>
<p>You may close this page and go back to your MCP client.</p>`;
  return shown(200, page({ title: 'Connected', body }), { 'set-cookie': cookies });
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
<div><dt>It said</dt><dd class="code">${cut(error)}</dd></div>
${description !== undefined && html`<div><dt>In words</dt><dd>${cut(description)}</dd></div>`}
</dl>`;
  const body = html`<p>${
    denied
      ? html`Access was not given at <span class="code">${host}</span>.`
      : html`The authorization server <span class="code">${host}</span> refused.`
  } Nothing was connected.</p>
${said}
${denied ? askAgain : html`<p>Try once more; if it stays so, show this page to whoever runs this gateway.</p>`}`;
  return shown(400, page({ title: denied ? 'Not connected' : 'The authorization server refused', body }), {
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
<p>Nothing was connected. Try the link once more; if it stays so, show this page to whoever runs this gateway.</p>`;
  return shown(502, page({ title: 'It could not be finished', body }), { 'set-cookie': cookies });
}
