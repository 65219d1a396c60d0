/** The sign-in page. */
import { html } from '../../../web/html.ts';
import { type ShownPage, waitInWords } from './answers.ts';

export interface LoginView {
  /** The CSRF token. */
  readonly token: string;
  /** The client that asks for access; absent outside of an OAuth flow. */
  readonly client?: string | undefined;
  /** The name from the failed attempt. */
  readonly name?: string | undefined;
  readonly trouble?: 'wrong' | { readonly waitMs: number };
  readonly formsLeadTo?: readonly string[] | undefined;
}

export function loginPage({ token, client, name = '', trouble, formsLeadTo = [] }: LoginView): ShownPage {
  const isWaiting = typeof trouble === 'object';
  return {
    status: trouble === undefined ? 200 : isWaiting ? 429 : 400,
    title: 'Sign in',
    formsLeadTo,
    body: html`
${client !== undefined && html`<p><strong>${client}</strong> asks to connect to this gateway. Sign in to continue.</p>`}
${trouble === 'wrong' && html`<p class="warn" role="alert">The user name or the password is wrong.</p>`}
${
  isWaiting &&
  html`<p class="warn" role="alert">There were too many attempts. Try again in ${waitInWords(trouble.waitMs)}.</p>`
}
<form method="post" autocomplete="on">
<input type="hidden" name="token" value="${token}">
<label for="name">User name</label>
<input id="name" name="name" value="${name}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="128"${name === '' && html` autofocus`}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="256"${name !== '' && html` autofocus`}>
<div class="acts">
<button name="action" value="sign-in">Sign in</button>
${client !== undefined && html`<button class="quiet" name="action" value="deny" formnovalidate>Cancel</button>`}
</div>
</form>`,
  };
}
