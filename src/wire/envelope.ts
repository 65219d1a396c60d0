/** Turns an outline into a message: checks what makes a JSON object a JSON-RPC 2.0 message in MCP. */
import { Failure, type Reason } from '../errors/failure.ts';
import type { Member, Message, ObjectSpan } from './message.ts';
import { nameAt } from './names.ts';
import type { Body, OutlineReader } from './outline.ts';
import { idAt, isInteger, member, stringAt } from './values.ts';

export interface EnvelopeRules {
  readonly reason: Reason;
  /** Whether an error must have an integer code and a message. Not required of backends: their errors are passed on. */
  readonly errorMembers: boolean;
}

/**
 * The id to echo in an error about this message: a request's own, if there is exactly one. The id of a response is one
 * of ours, and an error with that id would look like a response to our request.
 */
export function echoedId({ bytes, id, method, result, error, twin }: OutlineReader): string | undefined {
  const isResponse = method === undefined && (result !== undefined || error !== undefined);
  return id === undefined || isResponse || twin === 'id' ? undefined : idAt(bytes, id)?.raw;
}

export function toMessage(outline: OutlineReader, rules: EnvelopeRules): Message {
  const { bytes, method, params, result, error } = outline;
  if (outline.twin !== undefined) throw refusal(outline, rules, `More than one ${outline.twin}`);
  if (!isVersion2(bytes, outline.jsonrpc)) throw refusal(outline, rules, 'jsonrpc must be "2.0"');
  const id = outline.id === undefined ? undefined : idAt(bytes, outline.id);

  if (method !== undefined) {
    if (result !== undefined || error !== undefined) throw refusal(outline, rules, 'Both a method and an answer');
    const name = methodName(bytes, method);
    if (name === '') throw refusal(outline, rules, 'method must be a string');
    if (params !== undefined && params.object === undefined) throw refusal(outline, rules, 'params must be an object');
    const { object, meta } = params ?? NO_BODY;
    if (outline.id === undefined) return { kind: 'notification', bytes, method: name, params: object, meta };
    if (id === undefined) throw refusal(outline, rules, BAD_ID);
    return { kind: 'request', bytes, id, method: name, params: object, meta };
  }

  if (result !== undefined) {
    if (error !== undefined) throw refusal(outline, rules, 'Both result and error');
    if (result.object === undefined) throw refusal(outline, rules, 'result must be an object');
    if (id === undefined) throw refusal(outline, rules, BAD_ID);
    return { kind: 'result', bytes, id, result: result.object, meta: result.meta };
  }

  if (error === undefined) throw refusal(outline, rules, 'Neither method nor result nor error');
  if (error.object === undefined) throw refusal(outline, rules, 'error must be an object');
  if (rules.errorMembers) checkError(outline, rules, error.object);
  if (id === undefined && !isNullOrAbsent(bytes, outline.id)) throw refusal(outline, rules, BAD_ID);
  return { kind: 'error', bytes, id, error: error.object };
}

const NO_BODY: Pick<Body, 'object' | 'meta'> = { object: undefined, meta: undefined };
const BAD_ID = 'id must be a string or an integer';

function refusal(outline: OutlineReader, rules: EnvelopeRules, message: string): Failure {
  const id = echoedId(outline);
  return new Failure(rules.reason, id === undefined ? { message } : { message, id });
}

function checkError(outline: OutlineReader, rules: EnvelopeRules, error: ObjectSpan): void {
  const code = member(error, 'code');
  const message = member(error, 'message');
  if (code === undefined || !isInteger(outline.bytes, code)) {
    throw refusal(outline, rules, 'error.code must be an integer');
  }
  if (message === undefined || outline.bytes[message.start] !== 0x22 /* " */) {
    throw refusal(outline, rules, 'error.message must be a string');
  }
}

/** Empty if the value is not a string. Methods are few, so `nameAt` finds their names in its table. */
function methodName(bytes: Uint8Array, { start, end }: Member): string {
  return bytes[start] === 0x22 /* " */ ? nameAt(bytes, start + 1, end - 1) : '';
}

/** Nearly always spelled in the same five bytes. An escaped spelling is valid too. */
function isVersion2(bytes: Uint8Array, jsonrpc: Member | undefined): boolean {
  if (jsonrpc === undefined) return false;
  const { start, end } = jsonrpc;
  if (end - start === 5 && bytes[start + 1] === 0x32 && bytes[start + 2] === 0x2e && bytes[start + 3] === 0x30) {
    return bytes[start] === 0x22;
  }
  return stringAt(bytes, jsonrpc) === '2.0';
}

/** Up to 2025-11-25, an error may carry `id: null` if the request's id could not be read. */
function isNullOrAbsent(bytes: Uint8Array, id: Member | undefined): boolean {
  return id === undefined || (bytes[id.start] === 0x6e /* n */ && id.end - id.start === 4);
}
