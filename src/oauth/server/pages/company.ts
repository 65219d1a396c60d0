/** Pages about signing in at the company's provider. */
import { html } from '../../../web/html.ts';
import type { ShownPage } from './answers.ts';

export interface CompanySignInView {
  /** The CSRF token. */
  readonly token: string;
  readonly provider: string;
}

/** Outside of an OAuth flow. The form leads to the provider, and wherever that redirects. */
export function companySignInPage({ token, provider }: CompanySignInView): ShownPage {
  return {
    status: 200,
    title: 'Sign in',
    formsLeadTo: anywhere,
    body: html`
<form method="post">
<input type="hidden" name="token" value="${token}">
<div class="acts"><button name="action" value="sign-in">Continue to ${provider}</button></div>
</form>`,
  };
}

/**
 * Chromium applies `form-action` to every redirect after the form, and providers redirect between hosts that nobody
 * can list. A provider on this machine may have no TLS.
 */
export const anywhere: readonly string[] = ['https:', 'http://127.0.0.1:*', 'http://localhost:*'];

export function notConfirmed(provider: string, refused: boolean): ShownPage {
  return {
    status: refused ? 403 : 502,
    title: 'You are not signed in',
    body: html`
<p>${
      refused
        ? html`${provider} did not confirm who you are, or your account may not use this gateway.`
        : html`${provider} could not be asked who you are.`
    } The gateway’s log has the cause.</p>
<p class="soft">Go back to the program and start again there.</p>`,
  };
}
