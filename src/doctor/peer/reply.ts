/** What came back for one message that was sent, with the bytes of both for people to read. */
import { isObject } from '../../wire/values.ts';
import type { FindingId } from '../findings.ts';
import type { SecretMask } from './secrets.ts';

/** As text: bounded, and without secrets. */
export interface Bytes {
  readonly sent: string;
  readonly received: string;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** A JSON-RPC response: it has either a result or an error. */
export interface PeerAnswer {
  readonly id: unknown;
  readonly result: JsonObject | undefined;
  readonly error: JsonObject | undefined;
}

/** Why a message has no usable response. */
export interface PeerFault {
  readonly finding: FindingId;
  readonly detail: string;
  /** Where it is more specific than that of the finding. */
  readonly cure?: string | undefined;
}

export interface HttpHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the response came to its end, or was left by us. */
  readonly isComplete: boolean;
}

export interface PeerReply {
  readonly answer: PeerAnswer | undefined;
  /** Every other message that came, in order. */
  readonly others: readonly JsonObject[];
  /** Undefined where there is an answer, or where none is expected. */
  readonly fault: PeerFault | undefined;
  readonly http: HttpHead | undefined;
  readonly bytes: Bytes;
}

/** How much of a message is shown. */
const SHOWN_CHARACTERS = 2_000;
/** How much of what a server says is repeated in a sentence. */
const TOLD_CHARACTERS = 1_000;

export function shown(text: string, secrets: SecretMask): string {
  const clean = secrets.hide(text);
  if (clean.length <= SHOWN_CHARACTERS) return clean;
  return `${clean.slice(0, SHOWN_CHARACTERS)}... (${clean.length - SHOWN_CHARACTERS} more characters)`;
}

/** A sentence of a report, on one line. */
export function told(text: string, secrets: SecretMask): string {
  return secrets.hide(text).replaceAll('\n', ' ').slice(0, TOLD_CHARACTERS);
}

/** Undefined for anything but JSON. */
export function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

export function objectIn(value: unknown): JsonObject | undefined {
  return isObject(value) && !Array.isArray(value) ? value : undefined;
}

/** Reads a message as a response. Undefined for requests, notifications and everything else. */
export function answerIn(message: JsonObject): PeerAnswer | undefined {
  if (message.method !== undefined) return undefined;
  const [result, error] = [objectIn(message.result), objectIn(message.error)];
  return result === undefined && error === undefined ? undefined : { id: message.id, result, error };
}

export function codeOf(reply: PeerReply): number | undefined {
  const code = reply.answer?.error?.code;
  return typeof code === 'number' ? code : undefined;
}

/** In a few words, for reports: `HTTP 200, error -32601 "Method not found"`. */
export function summary({ http, answer, fault }: PeerReply): string {
  const status = http === undefined ? [] : [`HTTP ${http.status}`];
  if (answer?.result !== undefined) return [...status, 'a result'].join(', ');
  if (answer?.error === undefined) return [...status, ...(fault === undefined ? [] : [fault.detail])].join(', ');
  const message = String(answer.error.message ?? '').slice(0, 120);
  return [...status, `error ${String(answer.error.code)} "${message}"`].join(', ');
}
