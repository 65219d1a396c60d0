/** Texts of clients and backends, for people who decide by what they see. */

/** Characters that are not seen, or that change the order of others. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** The text on one line, with a code in place of each character that would not be seen. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
