/** HTML templates. Every value in a template is escaped, unless it comes from a template itself. */

/** Safe markup, made by `html`. It has its own type, so that no string is taken for markup by mistake. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

/** Undefined and false render as nothing, for optional parts. */
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
 * Escapes for text and for quoted attributes. Control and direction characters are replaced: an external name must not
 * reorder the text around it or hide a part of itself.
 */
export function escapeHtml(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Cs}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu, (found) =>
      /[\t\n\r]/.test(found) ? ' ' : '\ufffd',
    )
    .replace(/[&<>"']/g, (found) => entities[found] ?? '');
}
