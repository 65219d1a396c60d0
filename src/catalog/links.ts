/** Renames the URIs in a result that a client may use later: links, embedded resources, and read contents. */
import { Failure } from '../errors/failure.ts';
import { elementsAt } from '../wire/array.ts';
import { type Edit, spliceMessage } from '../wire/compose.ts';
import type { ObjectSpan, ResultResponse, Span } from '../wire/message.ts';
import { membersAt, skimMessage } from '../wire/skim.ts';
import { asBuffer, stringAt } from '../wire/values.ts';

/** Returns the client's form of a backend's URI; undefined if it stays the same. */
export type RenameUri = (uri: string) => string | undefined;

const marker = Buffer.from('"uri"');

/**
 * Returns the same message if nothing changes. If `"uri"` occurs only spelled with escapes, the result is not searched,
 * and the URI stays the backend's.
 */
export function withClientUris(message: ResultResponse, rename: RenameUri): ResultResponse {
  const { bytes, result } = message;
  if (asBuffer(bytes).indexOf(marker, result.start) === -1) return message;
  const edits = editsOf(message, rename);
  if (edits.length === 0) return message;
  const read = skimMessage(spliceMessage(message, edits));
  return read.kind === 'result' ? read : message;
}

function editsOf({ bytes, result }: ResultResponse, rename: RenameUri): readonly Edit[] {
  const edits: Edit[] = [];
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

function valuesOf(object: ObjectSpan | undefined, key: string): readonly Span[] {
  return object?.members.filter((own) => own.key === key) ?? [];
}
