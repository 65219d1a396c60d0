/**
 * Reads and writes `input_required` results.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
import { Failure } from '../errors/failure.ts';
import type { ServerRequest } from '../exchange/call.ts';
import { concat, type Raw, rewrite, splice, spliceMessage } from '../wire/compose.ts';
import type { Request, ResultResponse, Span } from '../wire/message.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import { membersAt, skimMessage } from '../wire/skim.ts';
import { member, slice } from '../wire/values.ts';

/** One input request of a modern backend, in the form of a legacy server request. */
export interface InputRequest {
  readonly key: string;
  readonly row: MethodRow;
  readonly message: Request;
}

export interface InputRequired {
  readonly requests: readonly InputRequest[];
  /** The exact JSON token of the state, to be echoed; undefined where the backend gave none. */
  readonly state: Raw | undefined;
}

export function readInputRequired(message: ResultResponse): InputRequired {
  const requests = member(message.result, 'inputRequests');
  const state = member(message.result, 'requestState');
  const map = requests && membersAt(message.bytes, requests);
  if (requests !== undefined && map === undefined) throw new Failure('backend_invalid');
  return {
    requests: map?.members.map((entry) => readRequest(entry.key, message.bytes, entry)) ?? [],
    state: state && slice(message.bytes, state),
  };
}

/** An input request lacks only the JSON-RPC envelope: with one added, the ordinary reader can parse it. */
function readRequest(key: string, bytes: Uint8Array, span: Span): InputRequest {
  const object = slice(bytes, span);
  const message = skimMessage(splice(object, [{ span: { start: 1, end: 1 }, with: '"jsonrpc":"2.0","id":1,' }]));
  const row = message.kind === 'request' ? methodRow(message.method) : undefined;
  if (message.kind !== 'request' || row?.action !== 'ask') {
    throw new Failure('backend_invalid', { message: 'The backend sent input requests that are not valid' });
  }
  return { key, row, message };
}

/** An input request to a modern client. */
export interface InputQuestion {
  readonly key: string;
  readonly method: string;
  readonly params: Raw | undefined;
}

/** Members of a server request that the modern era does not have. */
export function isLegacyAskMember(key: string): boolean {
  return key === 'elicitationId' || key === 'task';
}

export function questionOf(key: string, { row, message: { bytes, params } }: ServerRequest): InputQuestion {
  return { key, method: row.method, params: params && rewrite(bytes, params, { drop: isLegacyAskMember }) };
}

export function inputRequired(questions: readonly InputQuestion[], state: string): Raw {
  // `roots/list` needs no parameters, but some clients cannot read an input request without them.
  const requests = questions.flatMap(({ key, method, params = '{}' }) => [
    `,${JSON.stringify(key)}:{"method":${JSON.stringify(method)},"params":`,
    params,
    '}',
  ]);
  const [first = '', ...rest] = requests;
  const members = [typeof first === 'string' ? first.slice(1) : first, ...rest];
  return concat([
    '{"resultType":"input_required","inputRequests":{',
    ...members,
    `},"requestState":${JSON.stringify(state)}}`,
  ]);
}

/** A retry whose answers were for the gateway: the backend has asked nothing yet. */
export function withoutAnswers(request: Request): Request {
  const { bytes, params } = request;
  if (params === undefined) return request;
  const rest = rewrite(bytes, params, { drop: isAnswerMember });
  return skimMessage(spliceMessage(request, [{ span: params, with: rest }])) as Request;
}

export function isAnswerMember(key: string): boolean {
  return key === 'inputResponses' || key === 'requestState';
}

/** The answers in a retry, each exactly as sent. */
export function inputResponses(request: Request): readonly { readonly key: string; readonly result: Raw }[] {
  const responses = member(request.params, 'inputResponses');
  const answers = responses && membersAt(request.bytes, responses);
  return answers?.members.map((answer) => ({ key: answer.key, result: slice(request.bytes, answer) })) ?? [];
}
