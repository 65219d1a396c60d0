import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { page } from '../../src/web/frame.ts';
import { escapeHtml, html } from '../../src/web/html.ts';
import { verifies } from '../requirements/verifies.ts';

function policy(shown: ReturnType<typeof page>): ReadonlyMap<string, string> {
  const directives = shown.headers['content-security-policy']?.split('; ') ?? [];
  return new Map(directives.map((text) => [text.split(' ')[0] ?? '', text.split(' ').slice(1).join(' ')]));
}

describe('values in a page', () => {
  const cases = [
    { name: 'markup is text', part: '<b>&"\'', expect: '&lt;b&gt;&amp;&quot;&#39;' },
    { name: 'a number', part: 7, expect: '7' },
    { name: 'nothing', part: undefined, expect: '' },
    { name: 'an absent value', part: false, expect: '' },
    { name: 'the output of a template unchanged', part: html`<i>${'<'}</i>`, expect: '<i>&lt;</i>' },
    { name: 'a list', part: ['a', html`<br>`, '<'], expect: 'a<br>&lt;' },
    { name: 'line breaks as blanks', part: 'a\r\nb', expect: 'a  b' },
    {
      name: 'text that cannot change its surroundings',
      part: 'a\u202eb\u2066c\u0000',
      expect: 'a\ufffdb\ufffdc\ufffd',
    },
    { name: 'a lone surrogate', part: 'a\ud800', expect: 'a\ufffd' },
  ] as const;
  it.each(cases)('$name', ({ part, expect: expected }) => {
    expect(html`<p>${part}</p>`.toString()).toBe(`<p>${expected}</p>`);
  });

  it('no text opens a tag, ends an attribute or begins an entity of its own', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(escapeHtml(text)).not.toMatch(/[<>"']|&(?!(amp|lt|gt|quot|#39);)/);
      }),
    );
  });
});

describe('the frame', verifies('gateway:consent:page-safe'), () => {
  const shown = page({ title: 'A <title>', body: html`<p>Body</p>` });

  it('names the page twice, escaped, and has one heading', () => {
    expect(shown.html).toContain('<title>A &lt;title&gt; · Bascule</title>');
    expect(shown.html.match(/<h1>/g)).toHaveLength(1);
  });

  it('allows its own style by hash, and no script, frame or foreign form', () => {
    const sheet = /<style>(.*?)<\/style>/s.exec(shown.html)?.[1] ?? '';
    const hash = createHash('sha256').update(sheet).digest('base64');
    expect(Object.fromEntries(policy(shown))).toEqual({
      'default-src': "'none'",
      'style-src': `'sha256-${hash}'`,
      'img-src': 'data:',
      'base-uri': "'none'",
      'form-action': "'self'",
      'frame-ancestors': "'none'",
    });
    expect(shown.html).not.toMatch(/<script|style=|https?:\/\//);
  });

  it('is not cached and sends no referrer', () => {
    expect(shown.headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-type': 'text/html; charset=utf-8',
    });
  });

  it('lets a form lead to the named places, and drops invalid ones', () => {
    const formsLeadTo = [
      'https://as.example:8443',
      'http://[::1]:90',
      'cursor:',
      'http://localhost:*',
      '*',
      'https://*',
      "'unsafe-inline'",
      'https://a; script-src *',
      'https://a/b',
    ];
    expect(policy(page({ title: 'T', body: html``, formsLeadTo })).get('form-action')).toBe(
      "'self' https://as.example:8443 http://[::1]:90 cursor: http://localhost:*",
    );
  });
});
