/** How a client names itself, for the log and the audit trail: `name/version`, cut and without control characters. */
import type { Raw } from '../wire/compose.ts';

/** Clients choose names, of any length. */
export const SHOWN_CHARACTERS = 128;
/** Different clients whose names are kept. They hardly ever change, so parsing each time would be waste. */
const MOST_KEPT = 256;
/** A longer `clientInfo`, with icons, is parsed each time. */
const KEPT_CHARACTERS = 1_024;

const kept = new Map<string, string | undefined>();
/** The latest bytes, and the name in them: a client says the same with every request. */
let latest = Buffer.alloc(0);
let latestName: string | undefined;

/** Undefined where the client does not name itself. */
export function clientName(info: Raw | undefined): string | undefined {
  if (info === undefined) return undefined;
  if (typeof info === 'string') return nameIn(info);
  if (latest.equals(info)) return latestName;
  const bytes = Buffer.from(info);
  const name = nameIn(bytes.toString());
  if (bytes.byteLength <= KEPT_CHARACTERS) {
    latest = bytes;
    latestName = name;
  }
  return name;
}

function nameIn(text: string): string | undefined {
  if (kept.has(text)) return kept.get(text);
  const shown = shownClient(text);
  if (text.length > KEPT_CHARACTERS) return shown;
  if (kept.size >= MOST_KEPT) kept.clear();
  kept.set(text, shown);
  return shown;
}

function shownClient(info: string): string | undefined {
  let given: unknown;
  try {
    given = JSON.parse(info);
  } catch {
    return undefined;
  }
  if (typeof given !== 'object' || given === null) return undefined;
  const { name, version } = given as Readonly<Record<string, unknown>>;
  const parts = [name, version].filter((part) => typeof part === 'string');
  const shown = parts.join('/').replaceAll(/\p{Cc}/gu, '\ufffd');
  return shown === '' ? undefined : shown.slice(0, SHOWN_CHARACTERS);
}
