/** Hides secrets in everything that is printed: values that are known, and members and headers with telling names. */
import { printable } from '../../config/problems.ts';

const HIDDEN = '***';

/** Shorter values are ordinary words. Hiding them everywhere would make a transcript unreadable. */
const KNOWN_CHARACTERS = 8;

/** Of a session id, enough is shown to tell two of them apart. */
const SESSION_CHARACTERS = 6;

const secretHeaders = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie', 'x-api-key']);

const tokens = ['access_token', 'refresh_token', 'id_token', 'client_secret', 'registration_access_token'];
const inJson = new RegExp(`("(?:${tokens.join('|')})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'g');
/** In JSON, `code` and `state` are ordinary words. */
const inForm = new RegExp(
  `((?:^|[?&\\s])(?:${[...tokens, 'code', 'code_verifier', 'state'].join('|')})=)[^&\\s]+`,
  'gm',
);

export class SecretMask {
  readonly #values = new Set<string>();
  readonly #headers = new Set<string>(secretHeaders);

  /** A header of the user: its value is never printed, whatever its name. */
  addHeader(name: string, value: string): void {
    this.#headers.add(name.toLowerCase());
    this.add(value);
    for (const part of value.split(/[\s,;]+/)) this.add(part);
  }

  add(value: string): void {
    if (value.length < KNOWN_CHARACTERS) return;
    for (const form of [value, encodeURIComponent(value)]) this.#values.add(form);
  }

  header(name: string, value: string): string {
    if (this.#headers.has(name.toLowerCase())) return HIDDEN;
    if (name.toLowerCase() === 'mcp-session-id') return `${this.hide(value.slice(0, SESSION_CHARACTERS))}...`;
    return this.hide(value);
  }

  /** The text without secrets, and without characters that a terminal would interpret. Line breaks stay. */
  hide(text: string): string {
    let shown = text;
    // The longest first: one value may be a part of another.
    for (const value of [...this.#values].sort((a, b) => b.length - a.length)) shown = shown.replaceAll(value, HIDDEN);
    shown = shown.replace(inJson, `$1"${HIDDEN}"`).replace(inForm, `$1${HIDDEN}`);
    return shown.split(/\r?\n/).map(printable).join('\n');
  }
}
