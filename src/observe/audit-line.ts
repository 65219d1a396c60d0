/**
 * Writes an audit record as a line of JSON. Written by hand: most members are known to be plain or absent, so it costs
 * half of what `JSON.stringify` does, on every call.
 */
import type { AuditedPrincipal, AuditRecord } from './audit.ts';

/** Text that needs no escapes in JSON. All other text, including lone surrogates, is left to `JSON.stringify`. */
const plain = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

function quoted(text: string): string {
  return plain.test(text) ? `"${text}"` : JSON.stringify(text);
}

function member(name: string, text: string | undefined): string {
  return text === undefined ? '' : `,"${name}":${quoted(text)}`;
}

function list(name: string, items: readonly string[] | undefined): string {
  if (items === undefined) return '';
  return `,"${name}":[${items.length === 1 ? quoted(items[0] as string) : items.map(quoted).join(',')}]`;
}

/** The client chooses a name, of any length. No tool has a longer name, and hardly any resource. */
const NAME_CHARACTERS = 1024;

/** The names of one request's parts are in lists, and each is cut shorter. */
const PART_CHARACTERS = 256;

function partNames(name: string, items: readonly string[] | undefined): string {
  return list(
    name,
    items?.map((item) => item.slice(0, PART_CHARACTERS)),
  );
}

function number(name: string, value: number | undefined): string {
  return value === undefined ? '' : `,"${name}":${value}`;
}

/** A longer name is cut, and its length recorded. */
function nameText(name: string | undefined): string {
  if (name === undefined || name.length <= NAME_CHARACTERS) return member('name', name);
  return `${member('name', name.slice(0, NAME_CHARACTERS))},"nameLength":${name.length}`;
}

/** The part of a line that hardly ever differs between two records of one principal. */
interface CallerText {
  readonly generation: number;
  readonly revision: string | undefined;
  readonly endpoint: string;
  readonly principal: string;
  readonly text: string;
}

/** The latest for each principal, cached as long as the principal lives. */
const callers = new WeakMap<AuditedPrincipal, CallerText>();

function callerText({ principal, generation, revision, endpoint }: AuditRecord): string {
  const known = callers.get(principal);
  if (known?.generation === generation && known.revision === revision && known.endpoint === endpoint) return known.text;
  const who = known?.principal ?? JSON.stringify(principal);
  // Joined, not added: the text is kept, and would otherwise be made of many small ones.
  const parts = [
    `,"generation":${generation},"principal":`,
    who,
    member('revision', revision),
    member('endpoint', endpoint),
  ];
  const text = parts.join('');
  callers.set(principal, { generation, revision, endpoint, principal: who, text });
  return text;
}

export function auditLine(record: AuditRecord): string {
  return (
    `{"time":"${record.time}","decision":"${record.decision}"` +
    member('reason', record.reason) +
    list('rules', record.rules) +
    list('wouldDeny', record.wouldDeny) +
    list('wouldAllow', record.wouldAllow) +
    callerText(record) +
    member('address', record.address) +
    member('backend', record.backend) +
    member('action', record.action) +
    nameText(record.name) +
    partNames('names', record.names) +
    number('nameCount', record.nameCount) +
    partNames('deniedNames', record.deniedNames) +
    number('deniedCount', record.deniedCount) +
    number('durationMs', record.durationMs) +
    member('outcome', record.outcome) +
    member('traceId', record.traceId) +
    (record.arguments === undefined ? '' : `,"arguments":${JSON.stringify(record.arguments)}`) +
    '}\n'
  );
}
