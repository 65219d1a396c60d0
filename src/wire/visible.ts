/** Texts of clients and backends, for people who decide by what they see. */

/**
 * Characters that are not seen, or that change the order of others: controls, formats and tags, variation selectors and
 * fillers, halves of characters, private and unassigned characters, spaces other than the usual one, and the Braille
 * pattern without dots.
 */
export const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu;

/** The text on one line, with a code in place of each character that would not be seen. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}
