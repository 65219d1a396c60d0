/**
 * Finds the target that a message names, and renames it: to the backend's name upstream, to the client's name
 * downstream. In a result, renames the URIs that a client may use later: links, embedded resources, and read contents.
 */
import { Failure } from '../errors/failure.ts';
import { type Edit, spliceMessage } from '../wire/compose.ts';
import type { Member, Notification, ObjectSpan, Request, ResultResponse, Span } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { elementsAt, membersAt, skimMessage } from '../wire/skim.ts';
import { asBuffer, member, stringAt, textMember } from '../wire/values.ts';
import { distinguishedAt, type UriPlace, valuesOf } from './extension-uris.ts';

export interface NamedTarget {
  readonly kind: 'tool' | 'prompt' | 'resource';
  readonly text: string;
  /** The JSON string within the message. */
  readonly span: Span;
}

/** Undefined if the method has no target that an endpoint renames, or the message does not name it. */
export function targetOf({ bytes, params }: Request | Notification, row: MethodRow): NamedTarget | undefined {
  switch (row.name) {
    case 'name':
      return namedAt(bytes, row.capability === 'prompts' ? 'prompt' : 'tool', member(params, 'name'));
    case 'uri':
      return namedAt(bytes, 'resource', member(params, 'uri'));
    case 'ref': {
      const at = member(params, 'ref');
      const ref = at && membersAt(bytes, at);
      switch (textMember(bytes, ref, 'type')) {
        case 'ref/prompt':
          return namedAt(bytes, 'prompt', member(ref, 'name'));
        case 'ref/resource':
          return namedAt(bytes, 'resource', member(ref, 'uri'));
        default:
          return undefined;
      }
    }
    default:
      return undefined;
  }
}

function namedAt(bytes: Uint8Array, kind: NamedTarget['kind'], span: Span | undefined): NamedTarget | undefined {
  const text = span && stringAt(bytes, span);
  return span === undefined || text === undefined ? undefined : { kind, text, span };
}

/**
 * The same message with the target `to`, the rest byte for byte. It is not parsed again: spans after the name are
 * shifted.
 */
export function renamed<M extends Request | Notification>(
  message: M,
  row: MethodRow,
  to: string,
  target = targetOf(message, row),
): M {
  if (target === undefined) throw new Failure('invalid_params');
  if (target.text === to) return message;
  const { start: from, end } = target.span;
  const bytes = replaced(asBuffer(message.bytes), from, end, JSON.stringify(to));
  const by = bytes.byteLength - message.bytes.byteLength;
  return {
    ...message,
    bytes,
    params: movedObject(message.params, from, by),
    meta: movedObject(message.meta, from, by),
  };
}

/** Copies both parts without views of them, which would be garbage of every renamed call. */
function replaced(bytes: Buffer, from: number, end: number, text: string): Buffer {
  const size = Buffer.byteLength(text);
  const made = Buffer.allocUnsafe(bytes.byteLength - (end - from) + size);
  bytes.copy(made, 0, 0, from);
  made.write(text, from);
  bytes.copy(made, from + size, end);
  return made;
}

/** Shifts spans after the value at `from`, which has grown by `by` bytes. No recorded span is inside that value. */
function moved(members: readonly Member[], from: number, by: number): readonly Member[] {
  return members.map(({ key, keyStart, start, end }) => ({
    key,
    keyStart: keyStart > from ? keyStart + by : keyStart,
    start: start > from ? start + by : start,
    end: end > from ? end + by : end,
  }));
}

function movedObject(object: ObjectSpan | undefined, from: number, by: number): ObjectSpan | undefined {
  if (object === undefined) return undefined;
  const { start, end, members } = object;
  return {
    start: start > from ? start + by : start,
    end: end > from ? end + by : end,
    members: moved(members, from, by),
  };
}

/** Returns the client's form of a backend's URI; undefined if it stays the same. */
export type RenameUri = (uri: string) => string | undefined;

/** How the URIs of a backend are written in a result. */
export interface ResultUris {
  readonly backend: string;
  /** Where the result has URIs of extensions. */
  readonly places: readonly UriPlace[];
  /** Asked for once there is a URI. */
  rename(): RenameUri;
}

const marker = Buffer.from('"uri"');

/**
 * Returns the same message if nothing changes. If `"uri"` occurs only spelled with escapes, the result is not searched
 * for it, and the URI stays the backend's.
 */
export function withClientUris(message: ResultResponse, uris: ResultUris): ResultResponse {
  const { bytes, result } = message;
  const hasUris = asBuffer(bytes).indexOf(marker, result.start) !== -1;
  const hasPlaces = uris.places.some(({ path: [first = ''] }) => member(result, first) !== undefined);
  if (!hasUris && !hasPlaces) return message;
  const edits = editsOf(message, uris, hasUris);
  if (edits.length === 0) return message;
  const read = skimMessage(spliceMessage(message, edits));
  return read.kind === 'result' ? read : message;
}

function editsOf({ bytes, result }: ResultResponse, uris: ResultUris, hasUris: boolean): readonly Edit[] {
  const edits: Edit[] = [];
  const rename = hasUris ? uris.rename() : () => undefined;
  const renameIn = (object: ObjectSpan | undefined): void => {
    // Rename every duplicate: we cannot know which one the client's reader takes.
    for (const span of valuesOf(object, 'uri')) {
      const uri = stringAt(bytes, span);
      const other = uri === undefined ? undefined : rename(uri);
      if (other !== undefined && other !== uri) edits.push({ span, with: JSON.stringify(other) });
    }
  };
  const block = (span: Span): void => {
    const object = membersAt(bytes, span);
    const types = valuesOf(object, 'type').map((type) => stringAt(bytes, type));
    if (types.includes('resource_link')) renameIn(object);
    if (types.includes('resource')) {
      for (const embedded of valuesOf(object, 'resource')) renameIn(membersAt(bytes, embedded));
    }
  };
  /** A prompt's message has one block, a tool's result has a list of them. */
  const blocks = (span: Span): void => (elementsAt(bytes, span) ?? [span]).forEach(block);

  try {
    edits.push(...distinguishedAt(bytes, result, uris.places, uris.backend));
    if (!hasUris) return edits;
    for (const content of valuesOf(result, 'content')) blocks(content);
    for (const messages of valuesOf(result, 'messages')) {
      for (const one of elementsAt(bytes, messages) ?? []) valuesOf(membersAt(bytes, one), 'content').forEach(blocks);
    }
    for (const contents of valuesOf(result, 'contents')) {
      for (const one of elementsAt(bytes, contents) ?? []) renameIn(membersAt(bytes, one));
    }
    return edits;
  } catch (error) {
    // The result is not JSON. The client must refuse it, as it would without the gateway.
    if (error instanceof Failure) return [];
    throw error;
  }
}
