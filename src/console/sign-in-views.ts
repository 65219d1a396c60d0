/** Pages for those who are not let in yet: rendered on the server, in the frame of every page. */

import { page } from '../web/frame.ts';
import { type Html, html } from '../web/html.ts';
import { type PageResponse, shown, view } from '../web/request.ts';

export interface SignInWays {
  /** Where the bundled authorization server asks for a password. */
  readonly signInUrl: string | undefined;
  readonly action: string;
  readonly mistake?: string | undefined;
}

export function signInView(status: number, { signInUrl, action, mistake }: SignInWays): PageResponse {
  const said = mistake !== undefined && html`<p class="warn" id="mistake" role="alert">${mistake}</p>`;
  const body = html`
<p>The console shows what passes through this gateway. Sign in as a person that <code>console</code> of the config names.</p>
${signInUrl !== undefined && html`<p><a class="button" href="${signInUrl}">Sign in with your password</a></p>`}
<form method="post" action="${action}">${said}
<label for="key">Access key or token</label>
<input id="key" name="key" type="password" required autocomplete="off" spellcheck="false" autocapitalize="off" aria-describedby="hint">
<p class="soft" id="hint">What your MCP client presents to this gateway. It is checked, kept in memory for this session, and sent nowhere else.</p>
<button>Sign in</button></form>`;
  return shown(status, page({ title: 'Console', body }));
}

export function notAllowedView(who: string, signOut: string): PageResponse {
  return view(
    403,
    'You may not use this console',
    html`<p>You are signed in as <strong>${who}</strong>. The config of this gateway names others under <code>console.who</code>.</p>
${signOutForm(signOut)}`,
  );
}

function signOutForm(action: string): Html {
  return html`<form method="post" action="${action}"><button class="quiet">Sign out</button></form>`;
}

/** For the person at this machine. The script brings the token of the link, which no server log sees. */
export function linkNeededView(script: string): PageResponse {
  const body = html`
<p>Open the link that the gateway printed when it started. It works once, on this machine, for ten minutes.</p>
<p class="soft">Without the link: start the gateway again, and take the link from its first lines.</p>
<p id="outcome" role="status"></p>`;
  const { headers, html: text } = page({ title: 'Console', body });
  const policy = headers['content-security-policy'] ?? '';
  return {
    status: 401,
    headers: { ...headers, 'content-security-policy': `${policy}; script-src 'self'; connect-src 'self'` },
    body: text.replace('</body>', `<script type="module" src="${script}"></script>\n</body>`),
  };
}
