/**
 * Writes an audit record as a line of JSON. Written by hand, piece by piece into the buffer of lines: most members are
 * known to be plain or absent, and a line made as a string would be over a kilobyte of garbage for each call.
 */
import type { AuditedPrincipal, AuditRecord } from './audit.ts';
import type { LineBuffer } from './line-buffer.ts';

/** `key` is the member's name as it stands in the line: with its comma, quotes and colon. */
function addText(lines: LineBuffer, key: string, text: string | undefined): void {
  if (text === undefined) return;
  lines.add(key);
  lines.addString(text);
}

/** Each item is cut to `most` characters. */
function addList(lines: LineBuffer, key: string, items: readonly string[] | undefined, most?: number): void {
  if (items === undefined) return;
  lines.add(key);
  let before = '[';
  for (const item of items) {
    lines.add(before);
    lines.addString(most === undefined ? item : item.slice(0, most));
    before = ',';
  }
  lines.add(items.length === 0 ? '[]' : ']');
}

function addCount(lines: LineBuffer, key: string, value: number | undefined): void {
  if (value === undefined) return;
  lines.add(key);
  lines.addNumber(value);
}

/** The client chooses a name, of any length. No tool has a longer name, and hardly any resource. */
const NAME_CHARACTERS = 1024;

/** The names of one request's parts are in lists, and each is cut shorter. */
const PART_CHARACTERS = 256;

/** A longer name is cut, and its length recorded. */
function addName(lines: LineBuffer, name: string | undefined): void {
  if (name === undefined || name.length <= NAME_CHARACTERS) addText(lines, ',"name":', name);
  else {
    addText(lines, ',"name":', name.slice(0, NAME_CHARACTERS));
    addCount(lines, ',"nameLength":', name.length);
  }
}

/** The principal as JSON, cached as long as it lives. */
const principals = new WeakMap<AuditedPrincipal, string>();

function principalText(principal: AuditedPrincipal): string {
  const known = principals.get(principal);
  if (known !== undefined) return known;
  const text = JSON.stringify(principal);
  principals.set(principal, text);
  return text;
}

export function addAuditLine(lines: LineBuffer, record: AuditRecord): void {
  lines.add('{"time":"');
  lines.add(record.time);
  lines.add(record.decision === 'allow' ? '","decision":"allow"' : '","decision":"deny"');
  addText(lines, ',"reason":', record.reason);
  addList(lines, ',"rules":', record.rules);
  addList(lines, ',"wouldDeny":', record.wouldDeny);
  addList(lines, ',"wouldAllow":', record.wouldAllow);
  addList(lines, ',"wouldAsk":', record.wouldAsk);
  if (record.approval !== undefined) {
    lines.add(',"approval":');
    lines.add(JSON.stringify(record.approval));
  }
  if (record.decisions !== undefined) {
    lines.add(',"decisions":');
    lines.add(JSON.stringify(record.decisions));
  }
  addCount(lines, ',"generation":', record.generation);
  lines.add(',"principal":');
  lines.add(principalText(record.principal));
  addText(lines, ',"revision":', record.revision);
  addText(lines, ',"endpoint":', record.endpoint);
  addText(lines, ',"address":', record.address);
  addText(lines, ',"client":', record.client);
  addText(lines, ',"session":', record.session);
  addText(lines, ',"requestId":', record.requestId);
  addText(lines, ',"backend":', record.backend);
  addText(lines, ',"action":', record.action);
  addName(lines, record.name);
  addList(lines, ',"names":', record.names, PART_CHARACTERS);
  addCount(lines, ',"nameCount":', record.nameCount);
  addList(lines, ',"deniedNames":', record.deniedNames, PART_CHARACTERS);
  addCount(lines, ',"deniedCount":', record.deniedCount);
  addCount(lines, ',"durationMs":', record.durationMs);
  addText(lines, ',"outcome":', record.outcome);
  addText(lines, ',"traceId":', record.traceId);
  if (record.arguments !== undefined) {
    lines.add(',"arguments":');
    lines.add(JSON.stringify(record.arguments));
  }
  lines.add('}\n');
}
