/** Pages without a decision: errors, sign-out, and confirmations. */
import { html } from '../../../web/html.ts';
import type { ShownPage } from './answers.ts';

export interface AuthServerError {
  readonly error: string;
  readonly error_description?: string | undefined;
}

/** Explains the error in plain words. The details for the client's developer stand below. */
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
