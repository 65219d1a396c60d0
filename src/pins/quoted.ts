/** Texts of a backend, so that a reviewer sees every character of them. */

/**
 * Formats and tags, variation selectors and fillers, private and unassigned characters, controls, and spaces other than
 * the usual one: a model reads them, and people do not see them.
 */
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}\p{Cc}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** With `\uXXXX` for what cannot be seen. */
export function escapedUnseen(text: string): string {
  return text.replace(unseen, (character) => character.split('').map(escaped).join(''));
}

/** As a JSON string, which reads as the same text. */
export function quoted(text: string): string {
  return escapedUnseen(JSON.stringify(text));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
