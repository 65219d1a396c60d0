/** Texts of a backend, so that a reviewer sees every character of them. */
import { unseen } from '../wire/visible.ts';

/** With `\uXXXX` for what cannot be seen: a model reads it, and people do not. */
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
