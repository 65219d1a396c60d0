/** Entries in JSON files, with comments or without. What is added is at one place, so that it can be removed. */
import { type ClientEntry, type EntryFormat, type EntryPlace, LinkError } from './entry-file.ts';
import { afterTrivia, JsoncError, type JsoncNode, readJsonc } from './jsonc.ts';

export const jsonFormat: EntryFormat = {
  read: (text) => parsed(text).value,
  add: (text, { container, name }, entry) => {
    if (text === undefined || text.trim() === '')
      return `${JSON.stringify({ [container]: { [name]: entry } }, null, 2)}\n`;
    const root = parsed(text);
    const servers = memberOf(root, container);
    if (servers === undefined) return withMember(text, root, container, { [name]: entry }, root);
    return withMember(text, servers.node, name, entry, root);
  },
  remove: (text, place) => withoutMember(text, place),
};

function parsed(text: string): JsoncNode {
  try {
    return readJsonc(text);
  } catch (error) {
    if (error instanceof JsoncError) throw new LinkError(error.message);
    throw error;
  }
}

function memberOf({ members = [] }: JsoncNode, key: string) {
  return members.find((member) => member.key === key);
}

type AddedValue = ClientEntry | Readonly<Record<string, ClientEntry>>;

function withMember(text: string, object: JsoncNode, key: string, value: AddedValue, root: JsoncNode): string {
  const { members = [] } = object;
  const last = members.at(-1);
  const style = styleOf(text, root);
  const outer = indentAt(text, object.start);
  if (!style.isSpread) {
    const member = `${JSON.stringify(key)}:${style.space}${JSON.stringify(value)}`;
    if (last === undefined) return insert(text, object.start + 1, member);
    if (last.comma === undefined) return insert(text, last.node.end, `,${style.space}${member}`);
    return insert(text, last.comma + 1, `${style.space}${member},`);
  }
  const indent = last === undefined ? `${outer}${style.unit}` : indentAt(text, last.start);
  const spread = JSON.stringify(value, null, style.unit).replaceAll('\n', `${style.eol}${indent}`);
  const member = `${style.eol}${indent}${JSON.stringify(key)}: ${spread}`;
  if (last === undefined) {
    const rest = text.slice(object.start + 1, object.end - 1);
    return insert(text, object.start + 1, rest.includes('\n') ? member : `${member}${style.eol}${outer}`);
  }
  const end = endOfLine(text, last.comma === undefined ? last.node.end : last.comma + 1);
  const after = insert(text, end, last.comma === undefined ? member : `${member},`);
  return last.comma === undefined ? insert(after, last.node.end, ',') : after;
}

function withoutMember(text: string, { container, name }: EntryPlace): string {
  const { members = [] } = memberOf(parsed(text), container)?.node ?? {};
  const at = members.findIndex(({ key }) => key === name);
  const member = members[at];
  if (member === undefined) return text;
  const before = members[at - 1];
  const start = withoutIndent(text, member.start);
  // Without a comma of its own it was the last one, and the comma before it separates nothing any more.
  if (member.comma === undefined) {
    const left = cut(text, start, member.node.end);
    return before?.comma === undefined ? left : cut(left, before.comma, before.comma + 1);
  }
  return cut(cut(text, member.comma, member.comma + 1), start, member.node.end);
}

interface JsonStyle {
  /** Every member on a line of its own. */
  readonly isSpread: boolean;
  readonly unit: string;
  readonly eol: string;
  /** After a colon or a comma on one line. */
  readonly space: string;
}

function styleOf(text: string, root: JsoncNode): JsonStyle {
  const first = root.members?.[0];
  const isSpread = first === undefined || /[\n\r]/.test(text.slice(root.start, root.end));
  const unit = first === undefined ? '' : indentAt(text, first.start);
  const colon = first === undefined ? ' ' : text.slice(first.start, first.node.start);
  return {
    isSpread,
    unit: unit === '' ? '  ' : unit,
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    space: /\s$/.test(colon) ? ' ' : '',
  };
}

/** The white space at the beginning of the line. */
function indentAt(text: string, at: number): string {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  return /^[ \t]*/.exec(text.slice(start, at))?.[0] ?? '';
}

/** Behind a comment that belongs to what stands before it on the line. */
function endOfLine(text: string, from: number): number {
  const comments = /^(?:[ \t]*\/\*[^\n]*?\*\/)*(?:[ \t]*\/\/[^\n\r]*)?/.exec(text.slice(from, afterTrivia(text, from)));
  return from + (comments?.[0].length ?? 0);
}

/** Where the line break and the indentation before a place begin; on the same line, where the white space begins. */
function withoutIndent(text: string, at: number): number {
  let start = at;
  while (start > 0 && (text[start - 1] === ' ' || text[start - 1] === '\t')) start -= 1;
  if (text[start - 1] === '\n') start -= 1;
  if (text[start - 1] === '\r') start -= 1;
  return start;
}

function insert(text: string, at: number, what: string): string {
  return `${text.slice(0, at)}${what}${text.slice(at)}`;
}

function cut(text: string, start: number, end: number): string {
  return `${text.slice(0, start)}${text.slice(end)}`;
}
