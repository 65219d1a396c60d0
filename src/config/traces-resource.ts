/** `OTEL_RESOURCE_ATTRIBUTES`: `key=value,key=value`, values percent-encoded. One broken entry drops all of them. */

export function readResource(text: string | undefined, notices: string[]): Readonly<Record<string, string>> {
  if (text === undefined) return {};
  const entries = text.split(',').map(entryOf);
  const valid = entries.filter((entry) => entry !== undefined);
  if (valid.length === entries.length) return Object.fromEntries(valid);
  notices.push('OTEL_RESOURCE_ATTRIBUTES is malformed, and is ignored');
  return {};
}

function entryOf(entry: string): readonly [string, string] | undefined {
  const at = entry.indexOf('=');
  const key = entry.slice(0, at).trim();
  if (at < 0 || key === '') return undefined;
  try {
    return [key, decodeURIComponent(entry.slice(at + 1).trim())];
  } catch {
    return undefined;
  }
}
