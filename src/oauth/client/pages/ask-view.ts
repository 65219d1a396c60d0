/**
 * The connect page: which backend asks for which access and for whom, and how the person proves to be the principal.
 */

import { type Page, page } from '../../../web/frame.ts';
import { type Html, html } from '../../../web/html.ts';
import type { ConsentPrincipal } from '../consent-store.ts';
import { pageLimits } from './limits.ts';
import type { PendingConsent } from './ports.ts';

export interface ConnectView {
  readonly consent: PendingConsent;
  readonly proof: Html;
  /** Whether the visitor has already proven to be the principal. */
  readonly proven?: boolean;
  readonly formsLeadTo?: readonly string[];
}

export function askView({ consent, proof, proven = false, formsLeadTo = [] }: ConnectView): Page {
  const { backend, url, issuer, scopes, principal, shared } = consent;
  const elsewhere = pagesElsewhere(consent);
  const body = html`
<p>The MCP server <strong>${backend}</strong> needs access to your account. You grant it at the authorization server below; the gateway does not see your password.</p>
<dl>
<div><dt>MCP server</dt><dd>${backend}<br><span class="code">${hostOf(url)}</span></dd></div>
<div><dt>You allow it at</dt><dd><span class="code">${hostOf(issuer)}</span>${elsewhere && html`<br>on pages of <span class="code">${elsewhere}</span>`}</dd></div>
<div><dt>Access</dt><dd>${scopesView(scopes)}</dd></div>
<div><dt>Connected for</dt><dd>${personView(principal, proven)}</dd></div>
</dl>
${shared && html`<p class="warn"><strong>For everybody.</strong> Everyone who uses this server through the gateway will act with the account that you choose.</p>`}
<p class="soft">Go on only if your own MCP client has just asked you to. If somebody sent you this link, close the page.</p>
${proof}`;
  return page({ title: `Connect ${backend}`, body, formsLeadTo });
}

/**
 * The authorization page's host, if it differs from the issuer's. Without this notice, the person could not tell it
 * from phishing.
 */
function pagesElsewhere({ issuer, authorizationEndpoint = issuer }: PendingConsent): string | false {
  const host = hostOf(authorizationEndpoint);
  return host !== hostOf(issuer) && host;
}

/** As a URL spells it: internationalized names stay in ASCII, so that no host imitates another. */
export function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : address;
}

function scopesView(scopes: readonly string[]): Html {
  if (scopes.length === 0) return html`The default of the authorization server`;
  const listed = scopes.slice(0, pageLimits.shownScopes);
  const more = scopes.length - listed.length;
  return html`<ul>${listed.map((scope) => html`<li class="code">${scope}</li>`)}${more > 0 && html`<li>and ${more} more</li>`}</ul>`;
}

/**
 * The holder of the link may not be the principal. A key's name helps to find the key, but an account is only named to
 * its owner.
 */
function personView({ kind, keyName, issuer, subject }: ConsentPrincipal, proven: boolean): Html {
  switch (kind) {
    case 'local':
      return html`The users of this computer`;
    case 'key':
      return html`The holder of the access key <span class="code">${keyName}</span>`;
    case 'token':
      return proven
        ? html`You, <span class="code">${subject}</span> at <span class="code">${hostOf(issuer ?? '')}</span>`
        : html`One account at <span class="code">${hostOf(issuer ?? '')}</span>`;
  }
}

export interface FormFacts {
  readonly action: string;
  readonly token: string;
}

/** Every form carries the CSRF token. */
function formView({ action, token }: FormFacts, inside: Html): Html {
  return html`<form method="post" action="${action}"><input type="hidden" name="token" value="${token}">${inside}</form>`;
}

export function continueForm(form: FormFacts, text: string): Html {
  return formView(form, html`<button>${text}</button>`);
}

export function keyForm(form: FormFacts, mistake?: string): Html {
  const said = mistake !== undefined && html`<p class="warn" id="mistake" role="alert">${mistake}</p>`;
  const described =
    mistake === undefined ? html`aria-describedby="hint"` : html`aria-invalid="true" aria-describedby="mistake hint"`;
  return formView(
    form,
    html`${said}
<label for="key">Access key</label>
<input id="key" name="key" type="password" required autocomplete="off" spellcheck="false" autocapitalize="off" ${described}>
<p class="soft" id="hint">The key that your MCP client uses for this gateway. It proves that the link is yours, and is not sent to any other server.</p>
<button>Continue</button>`,
  );
}

export function signInLink(url: string): Html {
  return html`<a class="button" href="${url}">Sign in to continue</a>`;
}
