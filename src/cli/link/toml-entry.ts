/** Entries in TOML files: a table of its own at the end of the file. */
import { parse, TomlError } from 'smol-toml';
import { type ClientEntry, type EntryFormat, type EntryPlace, LinkError } from './entry-file.ts';

export const tomlFormat: EntryFormat = {
  read: (text) => {
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      throw new LinkError(`line ${error.line}, column ${error.column} is not valid TOML`);
    }
  },
  add: (text = '', place, entry) => {
    const eol = text.includes('\r\n') ? '\r\n' : '\n';
    const gap = text === '' ? '' : text.endsWith('\n') ? eol : `${eol}${eol}`;
    return `${text}${gap}${tableOf(place, entry).join(eol)}${eol}`;
  },
  remove: (text, place) => {
    const lines = text.split(/(?<=\n)/);
    const first = lines.findIndex((line) => isHeader(line, place, ''));
    if (first === -1) throw new LinkError(`\`${place.container}.${place.name}\` is not a table of its own`);
    const next = lines.findIndex((line, at) => at > first && /^\s*\[/.test(line) && !isHeader(line, place, '.'));
    let end = next === -1 ? lines.length : next;
    // Comments before the next table belong to that table.
    while (end > first + 1 && /^\s*(?:#.*)?$/.test(lines[end - 1]?.trimEnd() ?? '')) end -= 1;
    const isLast = next === -1 && end === lines.length;
    const start = isLast && /^\s*$/.test(lines[first - 1] ?? 'x') ? first - 1 : first;
    return [...lines.slice(0, start), ...lines.slice(end)].join('');
  },
};

/** `after`: a dot, for the tables inside it. */
function isHeader(line: string, { container, name }: EntryPlace, after: '' | '.'): boolean {
  const quoted = (key: string) => `(?:${key}|"${key}"|'${key}')`;
  const closing = after === '' ? '\\]' : '\\.';
  return new RegExp(`^\\s*\\[\\s*${quoted(container)}\\s*\\.\\s*${quoted(name)}\\s*${closing}`).test(line);
}

/** Basic strings of TOML have the escapes of JSON. */
function tableOf({ container, name }: EntryPlace, entry: ClientEntry): string[] {
  return [`[${container}.${name}]`, ...Object.entries(entry).map(([key, value]) => `${key} = ${written(value)}`)];
}

function written(value: ClientEntry[string]): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => JSON.stringify(item)).join(', ')}]`;
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)} = ${JSON.stringify(item)}`)
    .join(', ')} }`;
}
