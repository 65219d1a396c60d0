/**
 * The frame of every page that we show to a person: rendered here, no script, nothing fetched from anywhere, shown in
 * no frame, kept in no cache, and silent about its address to whoever it leads to.
 */
import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';
import { style } from './style.ts';

export interface PageParts {
  readonly title: string;
  readonly body: Html;
  /**
   * Where a form on this page may lead besides to us. Chromium holds `form-action` against every redirect that follows
   * a form too, so whoever answers a form by sending the browser elsewhere names that place here: an origin
   * (`https://as.example`; `http://127.0.0.1:*` has any port) or a scheme (`https:`).
   */
  readonly formsLeadTo?: readonly string[];
}

export interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly html: string;
}

/** For everything that is said to a browser, redirects included: addresses with codes in them are nobody's business. */
export const privateHeaders: Readonly<Record<string, string>> = Object.freeze({
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
});

const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`;
/** Known to be safe: it is ours, and the policy of every page names its hash. */
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
      // For browsers that do not know `frame-ancestors`.
      'x-frame-options': 'DENY',
    },
    html: document.toString(),
  };
}

function policyOf(formsLeadTo: readonly string[]): string {
  const targets = ["'self'", ...formsLeadTo.filter(isSource)].join(' ');
  return `default-src 'none'; style-src ${styleHash}; img-src data:; base-uri 'none'; form-action ${targets}; frame-ancestors 'none'`;
}

/** A source that could end the directive, or open it to everybody, is left out: the form then leads nowhere. */
function isSource(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:(\/\/[a-z0-9.:[\]-]+(:\*)?)?$/i.test(text);
}
