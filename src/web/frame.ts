/**
 * The frame of every page that we show to a person: rendered on the server, without scripts or external resources. A
 * page cannot be framed or cached, and sends no referrer.
 */
import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';
import { style } from './style.ts';

export interface PageParts {
  readonly title: string;
  readonly body: Html;
  /**
   * Where a form on this page may lead besides to us. Chromium also applies `form-action` to every redirect that
   * follows a form, so a handler that responds with a redirect names its target here: an origin (`https://as.example`;
   * `http://127.0.0.1:*` has any port) or a scheme (`https:`).
   */
  readonly formsLeadTo?: readonly string[];
}

export interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly html: string;
}

/** For every response to a browser, including redirects: URLs with codes in them must not leak. */
export const privateHeaders: Readonly<Record<string, string>> = Object.freeze({
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;
/** Safe without escaping: it is our own, and the policy of every page names its hash. */
const styleElement = new Html(`<style>${style}</style>`);

export function page({ title, body, formsLeadTo = [] }: PageParts): Page {
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Bascule</title>
<link rel="icon" href="data:,">
${styleElement}
</head>
<body>
<div class="frame">
<p class="name">Bascule</p>
<main>
<h1>${title}</h1>
${body}
</main>
</div>
</body>
</html>
`;
  return {
    headers: {
      ...privateHeaders,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policyOf(formsLeadTo),
      // For browsers without `frame-ancestors`.
      'x-frame-options': 'DENY',
    },
    html: document.toString(),
  };
}

function policyOf(formsLeadTo: readonly string[]): string {
  const targets = ["'self'", ...formsLeadTo.filter(isSource)].join(' ');
  return `default-src 'none'; style-src ${styleHash}; img-src data:; base-uri 'none'; form-action ${targets}; frame-ancestors 'none'`;
}

/** Drops a source that could end the directive or allow every target: the browser then blocks the form. */
function isSource(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:(\/\/[a-z0-9.:[\]-]+(:\*)?)?$/i.test(text);
}
