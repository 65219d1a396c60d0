/** From an outline to a message: what makes a JSON object a JSON-RPC 2.0 message in MCP. */
import { Failure, type Reason } from '../errors.ts';
import type { Member, Message } from './message.ts';
import type { OutlineReader } from './outline.ts';
import { idAt, isInteger, member, stringAt } from './values.ts';

export interface EnvelopeRules {
  readonly reason: Reason;
  /** Whether an error must have an integer code and a message. Backends are forgiven: what they say is passed on. */
  readonly errorMembers: boolean;
}

interface Envelope {
  jsonrpc: Member | undefined;
  id: Member | undefined;
  method: Member | undefined;
  params: Member | undefined;
  result: Member | undefined;
  error: Member | undefined;
  /** The name of the first of them that is there twice. */
  twin: string | undefined;
}

function envelope(top: readonly Member[]): Envelope {
  const found: Envelope = {
    jsonrpc: undefined,
    id: undefined,
    method: undefined,
    params: undefined,
    result: undefined,
    error: undefined,
    twin: undefined,
  };
  for (const candidate of top) {
    switch (candidate.key) {
      case 'jsonrpc':
      case 'id':
      case 'method':
      case 'params':
      case 'result':
      case 'error':
        if (found[candidate.key] !== undefined) found.twin ??= candidate.key;
        found[candidate.key] = candidate;
    }
  }
  return found;
}

/**
 * The id to echo in an error about this message: a request's own, where there is exactly one. A response's id is ours,
 * and an error that carried it would look like an answer.
 */
export function echoedId(bytes: Uint8Array, top: readonly Member[]): string | undefined {
  const { id, method, result, error } = envelope(top);
  if (id === undefined || (method === undefined && (result !== undefined || error !== undefined))) return undefined;
  if (top.some((other) => other.key === 'id' && other !== id)) return undefined;
  return idAt(bytes, id)?.raw;
}

export function toMessage(outline: OutlineReader, rules: EnvelopeRules): Message {
  const { bytes, top } = outline;
  const found = envelope(top);
  const refuse = (message: string): Failure => {
    const id = echoedId(bytes, top);
    return new Failure(rules.reason, id === undefined ? { message } : { message, id });
  };

  if (found.twin !== undefined) throw refuse(`More than one ${found.twin}`);
  if (found.jsonrpc === undefined || stringAt(bytes, found.jsonrpc) !== '2.0') throw refuse('jsonrpc must be "2.0"');
  const id = found.id === undefined ? undefined : idAt(bytes, found.id);

  if (found.method !== undefined) {
    if (found.result !== undefined || found.error !== undefined) throw refuse('Both a method and an answer');
    const method = stringAt(bytes, found.method);
    if (method === undefined || method === '') throw refuse('method must be a string');
    const { params, paramsMeta: meta } = outline;
    if (found.params !== undefined && params === undefined) throw refuse('params must be an object');
    if (found.id === undefined) return { kind: 'notification', bytes, top, method, params, meta };
    if (id === undefined) throw refuse('id must be a string or an integer');
    return { kind: 'request', bytes, top, id, method, params, meta };
  }

  if (found.result !== undefined) {
    if (found.error !== undefined) throw refuse('Both result and error');
    const { result, resultMeta: meta } = outline;
    if (result === undefined) throw refuse('result must be an object');
    if (id === undefined) throw refuse('id must be a string or an integer');
    return { kind: 'result', bytes, top, id, result, meta };
  }

  if (found.error === undefined) throw refuse('Neither method nor result nor error');
  const { error } = outline;
  if (error === undefined) throw refuse('error must be an object');
  if (rules.errorMembers) {
    const code = member(error, 'code');
    const message = member(error, 'message');
    if (code === undefined || !isInteger(bytes, code)) throw refuse('error.code must be an integer');
    if (message === undefined || stringAt(bytes, message) === undefined) throw refuse('error.message must be a string');
  }
  if (id === undefined && found.id !== undefined && !isNull(bytes, found.id)) {
    throw refuse('id must be a string or an integer');
  }
  return { kind: 'error', bytes, top, id, error };
}

function isNull(bytes: Uint8Array, span: Member): boolean {
  return bytes[span.start] === 0x6e && span.end - span.start === 4;
}
