/** Pages without a decision: errors, sign-out, and confirmations. */
import type { ErrorOut } from 'oidc-provider';
import { html } from '../../../web/html.ts';
import type { ShownPage } from './answers.ts';

/** Explains the error in plain words. The details for the client's developer stand below. */
export function troublePage(status: number, { error, error_description }: ErrorOut): ShownPage {
  return {
    status,
    title: titles.get(error) ?? 'The request failed',
    body: html`
<p>${words.get(error) ?? 'The program that sent you here made a request that this gateway does not support.'}</p>
<p class="soft">Go back to the program and start again there. If it happens again, report this error to the program’s developers:</p>
<dl>
<div><dt>Error</dt><dd class="code">${error}</dd></div>
${error_description !== undefined && html`<div><dt>Details</dt><dd>${error_description}</dd></div>`}
</dl>`,
  };
}

const titles: ReadonlyMap<string, string> = new Map([
  ['session_not_found', 'This sign-in has ended'],
  ['invalid_client', 'Unknown program'],
  ['server_error', 'The gateway failed'],
  ['too_many_requests', 'Too many open sign-ins'],
]);

const words: ReadonlyMap<string, string> = new Map([
  ['session_not_found', 'It took too long, was already finished, or was started in another browser.'],
  ['invalid_client', 'The program that sent you here is not registered at this gateway, or no longer registered.'],
  ['invalid_redirect_uri', 'The program that sent you here asked to return to an address that it has not registered.'],
  ['too_many_requests', 'More sign-ins were started than this gateway can keep open. Try again later.'],
  ['server_error', 'This is an error of the gateway. Its log has the details.'],
]);

/** One page for every interaction that is unknown, finished or expired, so that it does not reveal which. */
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

function done(title: string): ShownPage {
  return { status: 200, title, body: html`<p class="good">You can close this page.</p>` };
}

export const signedOut = done('You are signed out');
export const signedIn = done('You are signed in');
