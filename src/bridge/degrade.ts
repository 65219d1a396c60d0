/**
 * Rewrites results for clients of older revisions, by the table in revision-compat.ts. Everything that need not change
 * stays byte for byte: numbers keep their spelling, even in a list where a different entry lost a member.
 */

import { concat, type Raw, rewrite } from '../wire/compose.ts';
import type { ObjectSpan } from '../wire/message.ts';
import type { Revision } from '../wire/revisions.ts';
import { elementsAt, membersAt } from '../wire/skim.ts';
import { member, slice, textAt, textMember, valueAt } from '../wire/values.ts';
import { contentRows, lists, type ResultPart, unknownMembers } from './revision-compat.ts';

/** An object and the bytes that contain it. */
export interface ObjectPlace {
  readonly bytes: Uint8Array;
  readonly object: ObjectSpan;
}

/** Undefined where the bytes are no object. */
export function placeOf(raw: Uint8Array): ObjectPlace | undefined {
  const object = membersAt(raw, { start: 0, end: raw.byteLength });
  return object && { bytes: raw, object };
}

/** The result in the form of the revision; undefined where it can stay as it is. */
export function degrade(method: string, result: ObjectPlace, revision: Revision): Buffer | undefined {
  const list = lists[method];
  if (list !== undefined) return changed(result, list.list, (entry) => degradeEntry(entry, list.thing, revision));
  if (method === 'tools/call') return degradeCall(result, revision);
  if (method === 'prompts/get') return changed(result, 'messages', (message) => degradeMessage(message, revision));
  return undefined;
}

/**
 * In legacy revisions structured output is always an object; in the modern one it is any value, with any schema. A
 * value that is no object becomes the member `result` of one, both in the tool's schema and in its results.
 */
export function withObjectSchemas(result: ObjectPlace): Buffer | undefined {
  return changed(result, 'tools', ({ bytes, object }) => {
    const schema = member(object, 'outputSchema');
    const members = schema && membersAt(bytes, schema);
    if (schema === undefined || members === undefined) return undefined;
    const type = textMember(bytes, members, 'type');
    if (type === 'object') return undefined;
    // A schema without a type allows both objects and other values, so it cannot say which results are wrapped.
    if (type === undefined) return rewrite(bytes, object, { drop: (key) => key === 'outputSchema' });
    const wrapped = ['{"type":"object","properties":{"result":', slice(bytes, schema), '},"required":["result"]}'];
    return rewrite(bytes, object, { set: { outputSchema: concat(wrapped) } });
  });
}

function degradeEntry(entry: ObjectPlace, thing: ResultPart, revision: Revision): Buffer | undefined {
  const kept = without(thing, entry, revision);
  if (thing !== 'prompt') return kept;
  return changed(after(kept, entry), 'arguments', (argument) => without('argument', argument, revision)) ?? kept;
}

function degradeCall(result: ObjectPlace, revision: Revision): Buffer | undefined {
  const content = changed(result, 'content', (block) => replaced(block, revision));
  const kept = without('call', after(content, result), revision);
  if (kept === undefined) return content;
  const left = after(kept, result);
  const blocks = elements(left, 'content') ?? [];
  const structured = member(result.object, 'structuredContent');
  if (structured === undefined || blocks.some((block) => isText(block))) return kept;
  const text = `{"type":"text","text":${JSON.stringify(textAt(result.bytes, structured))}}`;
  return rewrite(left.bytes, left.object, { set: { content: array([...blocks, text]) } });
}

function degradeMessage({ bytes, object }: ObjectPlace, revision: Revision): Buffer | undefined {
  const content = member(object, 'content');
  const block = content && placeOf(slice(bytes, content));
  const instead = block && replaced(block, revision);
  return instead && rewrite(bytes, object, { set: { content: instead } });
}

function replaced(block: ObjectPlace, revision: Revision): Buffer | undefined {
  const own = textMember(block.bytes, block.object, 'type');
  const row = contentRows.find(({ type, since }) => own === type && revision < since);
  if (row === undefined) return undefined;
  const value = valueAt(block.bytes, block.object) as Record<string, unknown>;
  return Buffer.from(JSON.stringify(row.replace(value)));
}

function without(thing: ResultPart, { bytes, object }: ObjectPlace, revision: Revision): Buffer | undefined {
  const unknown = unknownMembers(thing, revision);
  if (!object.members.some(({ key }) => unknown.has(key))) return undefined;
  return rewrite(bytes, object, { drop: (key) => unknown.has(key) });
}

/** The object with changed elements in one of its arrays; undefined where no element changed. */
function changed(
  holder: ObjectPlace,
  key: string,
  change: (element: ObjectPlace) => Buffer | undefined,
): Buffer | undefined {
  let any = false;
  const result = elements(holder, key)?.map((element) => {
    const place = placeOf(element);
    const other = place && change(place);
    any ||= other !== undefined;
    return other ?? element;
  });
  if (result === undefined || !any) return undefined;
  return rewrite(holder.bytes, holder.object, { set: { [key]: array(result) } });
}

function elements({ bytes, object }: ObjectPlace, key: string): readonly Uint8Array[] | undefined {
  const found = member(object, key);
  const spans = found && elementsAt(bytes, found);
  return spans?.map((span) => slice(bytes, span));
}

function array(elements: readonly Raw[]): Buffer {
  return concat(['[', ...elements.flatMap((element, index) => (index === 0 ? [element] : [',', element])), ']']);
}

/** The changed object, or the original where nothing changed. */
function after(change: Buffer | undefined, before: ObjectPlace): ObjectPlace {
  return (change && placeOf(change)) ?? before;
}

function isText(block: Uint8Array): boolean {
  const place = placeOf(block);
  return place !== undefined && textMember(place.bytes, place.object, 'type') === 'text';
}
