/**
 * The frame of every page that we show to a person: rendered on the server, without scripts or external resources. A
 * page cannot be framed or cached, and sends no referrer.
 */
import { createHash } from 'node:crypto';
import { Html, html } from './html.ts';

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

/** One sheet inside the page, without network requests. */
const style = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--text:#1b1f24;--soft:#57606a;--line:#d5d9df;--edge:#818b98;--act:#0b5cad;--act-text:#fff;--warn:#a4260f;--warn-ground:#fdf0ed;--good:#17692f}
@media(prefers-color-scheme:dark){:root{--ground:#0f1216;--card:#181c22;--text:#e8ebef;--soft:#a3acb8;--line:#303740;--edge:#77818e;--act:#7db8f5;--act-text:#0b1622;--warn:#ff9d8a;--warn-ground:#2c1a17;--good:#7fd495}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;background:var(--ground);color:var(--text);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
.frame{max-width:31rem;margin:0 auto;padding:clamp(1rem,8vh,5rem) 1rem 2rem}
.name{margin:0 0 .75rem;color:var(--soft);font-size:.9375rem;font-weight:600;letter-spacing:.01em}
main{background:var(--card);border:1px solid var(--line);border-radius:.75rem;padding:1.5rem}
@media(min-width:32rem){main{padding:2rem}}
h1{margin:0 0 1rem;font-size:1.5rem;line-height:1.25;font-weight:650;text-wrap:balance}
h2{margin:1.5rem 0 .5rem;font-size:1.0625rem;line-height:1.3}
p,ul,dl,form{margin:0 0 1rem}
main>:last-child,form>:last-child{margin-bottom:0}
a{color:var(--act)}
code,.code{font:.9375em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
dl{border-top:1px solid var(--line)}
dl>div{display:grid;gap:0 1rem;padding:.625rem 0;border-bottom:1px solid var(--line)}
@media(min-width:32rem){dl>div{grid-template-columns:7.5rem 1fr}}
dt{color:var(--soft)}
dd{margin:0;min-width:0}
dd ul,ul.plain{margin:0;padding:0;list-style:none}
dd li+li{margin-top:.25rem}
label{display:block;margin-bottom:.375rem;font-weight:600}
label.choice{display:flex;gap:.625rem;align-items:baseline;font-weight:400}
input:not([type=checkbox],[type=radio],[type=hidden]),select{display:block;width:100%;min-height:2.75rem;margin-bottom:1rem;padding:.5rem .75rem;font:inherit;color:inherit;background:var(--card);border:1px solid var(--edge);border-radius:.5rem}
button,.button{display:inline-block;min-height:2.75rem;padding:.5625rem 1.25rem;font:inherit;font-weight:600;text-align:center;text-decoration:none;color:var(--act-text);background:var(--act);border:1px solid var(--act);border-radius:.5rem;cursor:pointer}
button.quiet,.button.quiet{color:var(--text);background:transparent;border-color:var(--edge)}
.acts{display:flex;flex-wrap:wrap;gap:.75rem}
@media(max-width:31.99rem){.acts>*{flex:1 1 100%}form>button,main>.button{display:block;width:100%}}
:focus-visible{outline:3px solid var(--act);outline-offset:2px}
.soft{color:var(--soft);font-size:.9375rem}
input+.soft{margin-top:-.625rem}
.warn{padding:.75rem 1rem;color:var(--warn);background:var(--warn-ground);border-left:.25rem solid var(--warn);border-radius:.25rem}
.good{color:var(--good)}
`.trim();

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
<header class="name">Bascule</header>
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
