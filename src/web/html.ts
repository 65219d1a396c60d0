/** Text that is safe inside a page. Whatever is put into a template is escaped, unless a template made it. */

/** Markup, and nothing that came from elsewhere unescaped: `html` makes it, so no string is taken for it by mistake. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** Undefined and false are nothing at all, so that a part can be left out in place. */
export type HtmlPart = Html | string | number | false | undefined | readonly HtmlPart[];

export function html(texts: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(texts.reduce((before, text, index) => before + rendered(parts[index - 1]) + text));
}

function rendered(part: HtmlPart): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.toString();
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  return part.map(rendered).join('');
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Good for text and for quoted attributes. Control and direction characters are replaced: a name that came from
 * elsewhere must not turn the words around it about, nor hide a part of itself.
 */
export function escapeHtml(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu, (found) =>
      /[\t\n\r]/.test(found) ? ' ' : '\ufffd',
    )
    .replace(/[&<>"']/g, (found) => entities[found] ?? '');
}
