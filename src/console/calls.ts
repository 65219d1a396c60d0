/** The recent calls, filtered, and one call with its decision and its timings. */
import { shownId } from './people.ts';
import { type ConsolePorts, ConsoleRefusal } from './ports.ts';
import type { RecordedCall, RecordedFacts } from './recorded-call.ts';

/** Rows of one answer. */
const USUAL = 100;
const MOST = 500;

type CallTest = (call: RecordedCall) => boolean;

/** Each filter is a parameter of the query. */
const filters: Readonly<Record<string, (wanted: string, ports: ConsolePorts) => CallTest>> = {
  who: (wanted) => contains(wanted, ({ who }) => who),
  person: (wanted, { digest }) => sameId(wanted, digest, ({ principalKey }) => principalKey),
  session: (wanted, { digest }) => sameId(wanted, digest, ({ sessionId }) => sessionId),
  client: (wanted) => contains(wanted, ({ client }) => client),
  endpoint:
    (wanted) =>
    ({ facts }) =>
      facts.endpoint === wanted,
  backend: (wanted) => (call) =>
    call.facts.backend === wanted || call.backendCalls.some(({ backend }) => backend === wanted),
  method:
    (wanted) =>
    ({ facts }) =>
      facts.method === wanted,
  name: (wanted) => contains(wanted, ({ name }) => name),
  outcome: (wanted) => {
    const outcomes = new Set(wanted.split(','));
    return (call) => outcomes.has(call.outcome);
  },
  rule: (wanted) => (call) => call.rules.includes(wanted) || call.wouldDeny?.includes(wanted) === true,
  slower: (wanted) => {
    const ms = Number(wanted);
    return (call) => call.ms >= ms;
  },
};

/**
 * Newest first. `after`: only later calls than this one, for those who follow along; `before`: only earlier ones, for
 * those who look back.
 */
export function calls(ports: ConsolePorts, query: URLSearchParams): object {
  const { recent } = ports.recorder;
  const limit = Math.min(MOST, numberIn(query, 'limit') ?? USUAL);
  const after = numberIn(query, 'after') ?? 0;
  const before = numberIn(query, 'before') ?? recent.newest + 1;
  const tests = Object.keys(filters).flatMap((key) => {
    const wanted = query.get(key);
    return wanted === null || wanted === '' ? [] : [filters[key]!(wanted, ports)];
  });
  const found: object[] = [];
  const least = Math.max(recent.oldest, after + 1);
  let id = Math.min(recent.newest, before - 1);
  for (; id >= least && found.length < limit; id--) {
    const call = recent.get(id);
    if (call !== undefined && tests.every((test) => test(call))) found.push(row(id, call));
  }
  return { now: ports.timeOfDay(), newest: recent.newest, oldest: recent.oldest, isCut: id >= least, calls: found };
}

export function oneCall(ports: ConsolePorts, query: URLSearchParams): object {
  const id = numberIn(query, 'id') ?? 0;
  const call = ports.recorder.recent.get(id);
  if (call === undefined)
    throw new ConsoleRefusal(404, 'unknown_call', 'There is no such call, or it is too old: only the last are kept');
  const { startedAt, ms, rules, wouldDeny, backendCalls, bodies } = call;
  const { generation, sessionId, principalKey } = call.facts;
  const atBackends = backendCalls.reduce((sum, one) => sum + (one.ms ?? 0), 0);
  return {
    now: ports.timeOfDay(),
    ...row(id, call),
    person: shownId(ports.digest, principalKey),
    session: sessionId && shownId(ports.digest, sessionId),
    decision: { rules, wouldDeny, generation },
    timings: {
      ms,
      /** Of a list of several backends, these ran side by side. */
      atBackends: backendCalls.length === 0 ? undefined : Math.min(ms, atBackends),
      backends: backendCalls.map(({ startedAt: began, ...timing }) => ({ ...timing, afterMs: began - startedAt })),
    },
    bodies,
    recordsBodies: ports.recorder.recordsBodies,
  };
}

function row(id: number, { facts, at, ms, outcome, reason, rules }: RecordedCall) {
  const { who, client, era, revision, endpoint, method, name, backend } = facts;
  return { id, at, ms, who, client, era, revision, endpoint, method, name, backend, outcome, reason, rules };
}

function contains(wanted: string, textOf: (facts: RecordedFacts) => string | undefined): CallTest {
  const lower = wanted.toLowerCase();
  return ({ facts }) => textOf(facts)?.toLowerCase().includes(lower) === true;
}

/** Hashes each secret once: few people make many calls. */
function sameId(
  wanted: string,
  digest: ConsolePorts['digest'],
  secretOf: (facts: RecordedFacts) => string | undefined,
): CallTest {
  const known = new Map<string, boolean>();
  return ({ facts }) => {
    const secret = secretOf(facts);
    if (secret === undefined) return false;
    const is = known.get(secret) ?? shownId(digest, secret) === wanted;
    known.set(secret, is);
    return is;
  };
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new ConsoleRefusal(400, 'invalid_number', `\`${name}\` must be a whole number that is not negative`);
}
