/** The pages on which nothing is decided. */
import { html } from '../../../web/html.ts';
import type { ShownPage } from './answers.ts';

export interface AuthServerError {
  readonly error: string;
  readonly error_description?: string | undefined;
}

/** What happened is told in words; what the developer of a client needs stands below. */
export function troublePage(status: number, { error, error_description }: AuthServerError): ShownPage {
  return {
    status,
    title: titles.get(error) ?? 'This did not work',
    body: html`
<p>${words.get(error) ?? 'The program that sent you here asked for something that this gateway does not give.'}</p>
<p class="soft">Go back to the program and start again there. If it happens again, tell its makers:</p>
<dl>
<div><dt>Error</dt><dd class="code">${error}</dd></div>
${error_description !== undefined && html`<div><dt>Details</dt><dd>${error_description}</dd></div>`}
</dl>`,
  };
}

const titles: ReadonlyMap<string, string> = new Map([
  ['session_not_found', 'This sign-in has ended'],
  ['invalid_client', 'Unknown program'],
  ['server_error', 'Something went wrong here'],
  ['too_many_requests', 'Too many at once'],
]);

const words: ReadonlyMap<string, string> = new Map([
  ['session_not_found', 'It took too long, it was finished before, or it was begun in another browser.'],
  ['invalid_client', 'The program that sent you here is not known to this gateway, or not any more.'],
  ['invalid_redirect_uri', 'The program that sent you here wants the answer in a place that it has not registered.'],
  ['too_many_requests', 'More sign-ins were begun than this gateway can keep open. It has room again in a while.'],
  ['server_error', 'The mistake is ours, and it is in the log of the gateway.'],
]);

/** The same for whatever is not there any more: nobody learns what was. */
export const ended = troublePage(400, { error: 'session_not_found' });

export function signOutPage(user: string, token: string): ShownPage {
  return {
    status: 200,
    title: 'Sign out?',
    body: html`
<p>You are signed in as <strong>${user}</strong>. Programs that you have connected stay connected.</p>
<form method="post">
<input type="hidden" name="token" value="${token}">
<div class="acts"><button name="action" value="sign-out">Sign out</button></div>
</form>`,
  };
}

export const signedOut: ShownPage = {
  status: 200,
  title: 'You are signed out',
  body: html`<p class="good">You can close this page.</p>`,
};

export const signedIn: ShownPage = {
  status: 200,
  title: 'You are signed in',
  body: html`<p class="good">You can close this page.</p>`,
};
