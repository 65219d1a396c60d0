/** The console over HTTP: sign-in, the page with its files, and the API. */

import { shownPrincipal } from '../identity/principal.ts';
import { privateHeaders } from '../web/frame.ts';
import type { PageSet } from '../web/mount.ts';
import { formOf, type PageRequest, type PageResponse, seeOther } from '../web/request.ts';
import { answerApi } from './api.ts';
import { asset } from './assets.ts';
import type { Operators } from './operators.ts';
import { type ConsolePorts, ConsoleRefusal, type Operator } from './ports.ts';
import { RequestLimiter } from './request-limiter.ts';
import { mayEnter } from './rights.ts';
import { linkNeededView, notAllowedView, signInView } from './sign-in-views.ts';

export const consolePath = '/console';
const apiPath = `${consolePath}/api`;
const paths = {
  signIn: `${consolePath}/sign-in`,
  signOut: `${consolePath}/sign-out`,
  enter: `${consolePath}/enter`,
  files: `${consolePath}/files/`,
} as const;

export interface ConsolePagesOptions {
  readonly ports: ConsolePorts;
  readonly operators: Operators;
  /** The sign-in page of the bundled authorization server. */
  readonly signInUrl: string | undefined;
  /** Where people end the session that they have there. */
  readonly signOutUrl: string | undefined;
}

export function consolePages({ ports, operators, signInUrl, signOutUrl }: ConsolePagesOptions): PageSet {
  const ways = { signInUrl, action: paths.signIn };
  const limiter = new RequestLimiter(() => ports.clock.now());

  const page = async (request: PageRequest): Promise<PageResponse> => {
    const operator = await operators.of(request);
    if (operator === undefined)
      return operators.isPersonal ? linkNeededView(`${paths.files}enter.js`) : signInView(401, ways);
    const isLetIn = mayEnter(ports.currentGeneration.now.config, operator.rights);
    return isLetIn ? shell : notAllowedView(shownPrincipal(operator.principal), paths.signOut);
  };

  const signIn = async (request: PageRequest): Promise<PageResponse> => {
    const secret = formOf(request)?.get('key')?.trim();
    if (!isOwnOrigin(request)) return signInView(403, { ...ways, mistake: 'The form came from another page.' });
    if (secret === undefined || secret === '' || operators.isPersonal) return signInView(400, ways);
    const outcome = await operators.signIn(secret, request.clientAddress);
    if ('cookie' in outcome) return seeOther(consolePath, { 'set-cookie': outcome.cookie });
    if ('failure' in outcome) return signInView(403, { ...ways, mistake: `${outcome.failure.message}.` });
    const seconds = String(Math.ceil(outcome.waitMs / 1000));
    const mistake = `Too many attempts. Try again in ${seconds} seconds.`;
    const { headers, ...rest } = signInView(429, { ...ways, mistake });
    return { ...rest, headers: { ...headers, 'retry-after': seconds } };
  };

  const enter = async (request: PageRequest): Promise<PageResponse> => {
    const { token } = (jsonIn(request) ?? {}) as { readonly token?: unknown };
    const cookie = isOwnOrigin(request) ? operators.enter(token, request) : undefined;
    if (cookie === undefined) return json(403, refused('link_invalid', 'The link was used already, or is too old'));
    return json(200, { entered: true }, { 'set-cookie': cookie });
  };

  const signOut = async (request: PageRequest): Promise<PageResponse> => {
    if (!isOwnOrigin(request)) return json(403, refused('origin_not_allowed', 'The request came from another page'));
    // A password opens a session of the authorization server, which is ended there.
    const operator = await operators.of(request);
    const isByPassword = operator !== undefined && operator.credentials === undefined;
    const next = isByPassword && signOutUrl !== undefined ? signOutUrl : consolePath;
    return seeOther(next, { 'set-cookie': operators.signOut(request.headers.cookie) });
  };

  const api = async (request: PageRequest): Promise<PageResponse> => {
    const operator = await operators.of(request);
    if (operator === undefined) return json(401, refused('credentials_missing', 'Sign in first'));
    if (operator.byCookie && !isFromPage(request))
      return json(403, refused('origin_not_allowed', 'The request came from another page'));
    try {
      const asked = { ...operator, address: request.clientAddress };
      return await limiter.run(operator.principal.key, () => answer(ports, request, asked));
    } catch (error) {
      if (!(error instanceof ConsoleRefusal)) throw error;
      return json(error.status, refused(error.reason, error.message), { 'retry-after': '1' });
    }
  };

  const exact: Readonly<Record<string, (request: PageRequest) => Promise<PageResponse>>> = {
    [`GET ${consolePath}`]: page,
    [`GET ${consolePath}/`]: async () => seeOther(consolePath),
    [`POST ${paths.signIn}`]: signIn,
    [`GET ${paths.signIn}`]: async () => seeOther(consolePath),
    [`POST ${paths.signOut}`]: signOut,
    [`POST ${paths.enter}`]: enter,
  };

  return {
    owns: (path) => path === consolePath || path.startsWith(`${consolePath}/`),
    answer: async (request) => {
      const { path, method } = request;
      const known = exact[`${method === 'HEAD' ? 'GET' : method} ${path}`];
      if (known !== undefined) return known(request);
      if (path.startsWith(`${apiPath}/`)) return api(request);
      const file = path.startsWith(paths.files) ? asset(path.slice(paths.files.length)) : undefined;
      return file ?? json(404, refused('path_not_found', 'The console has no such path'));
    },
  };
}

async function answer(ports: ConsolePorts, request: PageRequest, operator: Operator): Promise<PageResponse> {
  const { method, path, query } = request;
  const body = method === 'POST' ? jsonIn(request) : undefined;
  if (method === 'POST' && body === undefined) return json(400, refused('invalid_body', 'Send a JSON object'));
  const answered = await answerApi(ports, { method, path: path.slice(apiPath.length), query, body, operator });
  return json(answered.status, answered.body);
}

/** A cookie alone proves nothing about the page that sends the request. */
function isFromPage(request: PageRequest): boolean {
  const { origin, 'sec-fetch-site': site } = request.headers;
  if (request.method === 'GET' && origin === undefined && site === undefined) return true;
  return isOwnOrigin(request);
}

/**
 * Browsers send `Origin` with every POST; with `null` where the page hides its address, and then `Sec-Fetch-Site`
 * tells. Pages of other ports on the same host are other origins.
 */
function isOwnOrigin({ headers }: PageRequest): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin === undefined || origin === 'null') return site === 'same-origin';
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase();
}

function jsonIn({ headers, body }: PageRequest): object | undefined {
  if (headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() !== 'application/json') return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function refused(reason: string, message: string): object {
  return { error: { reason, message } };
}

function json(status: number, body: object, more: PageResponse['headers'] = {}): PageResponse {
  return {
    status,
    headers: { ...privateHeaders, 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  };
}

/** Only our own files, and nothing inline. */
const contentPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const shell: PageResponse = {
  status: 200,
  headers: {
    ...privateHeaders,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentPolicy,
    // For browsers without `frame-ancestors`.
    'x-frame-options': 'DENY',
  },
  body: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>Console · Bascule</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${paths.files}app.css">
</head>
<body>
<div id="app"><p class="loading">Loading</p></div>
<script type="module" src="${paths.files}app.js"></script>
</body>
</html>
`,
};
