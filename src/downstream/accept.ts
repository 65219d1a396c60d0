/** What a client can read, by its `Accept` header (RFC 9110, 12.5.1). */
import { Failure } from '../errors/failure.ts';
import type { Profile } from '../wire/revisions.ts';

export interface Accepted {
  readonly json: boolean;
  readonly sse: boolean;
  /** Named explicitly, not matched by a wildcard. */
  readonly namesJson: boolean;
  readonly namesSse: boolean;
}

const JSON_TYPE = 'application/json';
const SSE_TYPE = 'text/event-stream';

const named: Accepted = { json: true, sse: true, namesJson: true, namesSse: true };
const eventsAlone: Accepted = { json: false, sse: true, namesJson: false, namesSse: true };
const anything: Accepted = { json: true, sse: true, namesJson: false, namesSse: false };

/** The spellings that nearly every client uses; the rest is parsed. */
const usual: ReadonlyMap<string, Accepted> = new Map([
  ['application/json, text/event-stream', named],
  ['application/json,text/event-stream', named],
  ['text/event-stream, application/json', named],
  // Of a GET.
  ['text/event-stream', eventsAlone],
  ['*/*', anything],
]);

/** Without the header, everything is acceptable. */
export function readAccept(header: string | undefined): Accepted {
  if (header === undefined || header === '') return anything;
  return usual.get(header) ?? parseAccept(header);
}

function parseAccept(header: string): Accepted {
  const ranges = header.toLowerCase().split(',').map(parseRange);
  const json = bestOf(ranges, JSON_TYPE);
  const sse = bestOf(ranges, SSE_TYPE);
  return {
    json: json.weight > 0,
    sse: sse.weight > 0,
    namesJson: json.weight > 0 && json.type === JSON_TYPE,
    namesSse: sse.weight > 0 && sse.type === SSE_TYPE,
  };
}

interface MediaRange {
  readonly type: string;
  readonly weight: number;
}

function parseRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = quality === undefined ? 1 : Number(quality.slice(2));
  // An invalid weight is ignored: the client did name the type.
  return { type, weight: Number.isNaN(weight) ? 1 : weight };
}

/** The most specific range that matches the type decides, whatever its weight. */
function bestOf(ranges: readonly MediaRange[], type: string): MediaRange {
  for (const range of [type, `${type.slice(0, type.indexOf('/'))}/*`, '*/*']) {
    const weights = ranges.filter((one) => one.type === range).map(({ weight }) => weight);
    if (weights.length > 0) return { type: range, weight: Math.max(...weights) };
  }
  return { type: '', weight: 0 };
}

/**
 * A POST gets whichever type the client accepts. A strict profile requires both, as the specification does of clients.
 */
export function checkPost(accepted: Accepted, profile: Profile): Failure | undefined {
  const enough = profile.accept === 'strict' ? accepted.namesJson && accepted.namesSse : accepted.json || accepted.sse;
  return enough ? undefined : notAcceptable('application/json and text/event-stream');
}

/** A request that opens a stream is answered with a stream or refused. */
export function checkStream(accepted: Accepted, profile: Profile): Failure | undefined {
  const enough = profile.accept === 'strict' ? accepted.namesSse : accepted.sse;
  return enough ? undefined : notAcceptable(SSE_TYPE);
}

function notAcceptable(wanted: string): Failure {
  return new Failure('not_acceptable', { message: `Not acceptable: the client must accept ${wanted}` });
}
