/**
 * The consent page. It shows who asks and where the response goes, since both are the client's own claims.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization/client-registration#localhost-redirect-uri-risks
 */
import { html } from '../../../web/html.ts';
import type { ShownPage } from './answers.ts';

export interface ConsentView {
  readonly token: string;
  readonly client: string;
  /** The host of the client ID metadata document, if there is one: that host is verified. */
  readonly clientHost?: string | undefined;
  readonly redirectHost: string;
  /** This redirect leads to the person's own computer, whatever other redirect URIs the client has. */
  readonly isLocal: boolean;
  /** Who is signed in. */
  readonly user?: string;
  /** Nobody yet: the provider that the person signs in at next. */
  readonly signInAt?: string;
  /** Described for a person. */
  readonly scopes: readonly string[];
  /** The URL of the endpoint. */
  readonly resource: string;
  readonly formsLeadTo?: readonly string[] | undefined;
}

export function consentPage(view: ConsentView): ShownPage {
  const { token, client, clientHost, redirectHost, isLocal, user, signInAt, scopes, resource, formsLeadTo = [] } = view;
  return {
    status: 200,
    title: `Connect ${client}?`,
    formsLeadTo,
    body: html`
<p><strong>${client}</strong> asks to use this gateway on your behalf. It will be able to:</p>
<ul>${scopes.map((text) => html`<li>${text}</li>`)}</ul>
<dl>
<div><dt>At</dt><dd class="code">${resource}</dd></div>
<div><dt>Returns to</dt><dd class="code">${redirectHost}</dd></div>
${
  clientHost === undefined
    ? html`<div><dt>Who it is</dt><dd>Not verified: the client chose this name itself.</dd></div>`
    : html`<div><dt>Who it is</dt><dd>As published by <span class="code">${clientHost}</span></dd></div>`
}
${
  user === undefined
    ? html`<div><dt>You sign in at</dt><dd>${signInAt}</dd></div>`
    : html`<div><dt>Signed in as</dt><dd>${user}</dd></div>`
}
</dl>
${
  isLocal &&
  html`<p class="warn"><strong>This returns to your own computer.</strong> Any program that runs there can receive the
response, whatever its name. Continue only if you have just started ${client} yourself.</p>`
}
<form method="post">
<input type="hidden" name="token" value="${token}">
<div class="acts">
<button name="action" value="allow">${user === undefined ? `Allow and continue to ${signInAt}` : 'Allow'}</button>
<button class="quiet" name="action" value="deny">Cancel</button>
${user !== undefined && html`<button class="quiet" name="action" value="switch">Not ${user}?</button>`}
</div>
</form>`,
  };
}
