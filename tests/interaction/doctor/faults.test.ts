/** Each planted fault is named, and a server without a fault is not blamed. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type PlantedFault, startFaulty } from './faulty-server.ts';
import { at, broken, check, complaints, doctor, failures } from './inspect.ts';

interface FaultRow {
  readonly fault: PlantedFault;
  /** Of `doctor`: steps and findings. */
  readonly named: readonly string[];
  /** Of `check`: some of the ids that are broken. Empty where the opening fails, and leaves nothing to test. */
  readonly breaks: readonly string[];
  readonly demandsToken?: true;
  /** The wait for a server that never answers. */
  readonly timeoutMs?: number;
}

const rows: readonly FaultRow[] = [
  {
    fault: 'challenge missing',
    named: ['challenge: challenge_missing'],
    breaks: ['any hosting:auth:missing-401 must'],
    demandsToken: true,
  },
  {
    fault: 'other resource',
    named: ['resource metadata: other_resource'],
    breaks: ['any hosting:auth:metadata-endpoints#resource must'],
    demandsToken: true,
  },
  {
    fault: 'other issuer',
    named: ['server metadata: other_issuer'],
    breaks: ['any hosting:auth:as-router#issuer must'],
    demandsToken: true,
  },
  {
    fault: 'PKCE undeclared',
    named: ['server metadata: pkce_missing'],
    breaks: ['any hosting:auth:as:authorize-requires-pkce must'],
    demandsToken: true,
  },
  {
    fault: 'session lost',
    named: ['initialize: session_lost', 'list: session_lost', 'end: session_lost'],
    breaks: ['legacy hosting:session:reuse must'],
  },
  {
    fault: 'notification answered with 200',
    named: ['initialize: notification_answered'],
    breaks: ['legacy hosting:http:notifications-202 must', 'modern hosting:http:modern:notification-post-202 must'],
  },
  { fault: 'version header ignored', named: [], breaks: ['legacy hosting:http:protocol-version-400 must'] },
  {
    fault: 'origin ignored',
    named: [],
    breaks: ['modern', 'legacy'].map((era) => `${era} transport:streamable-http:origin-validation must`),
  },
  { fault: 'other id', named: ['discover: other_id', 'initialize: other_id'], breaks: [] },
  { fault: 'malformed stream', named: ['discover: sse_malformed', 'initialize: sse_malformed'], breaks: [] },
  { fault: 'initialize hangs', named: ['initialize: timed_out'], breaks: [], timeoutMs: 300 },
  {
    fault: 'batch served',
    named: [],
    breaks: ['legacy gateway:legacy:batch-refused should', 'modern gateway:modern:batch-refused should'],
  },
  {
    fault: 'result type missing',
    named: ['discover: result_type_missing', 'list: result_type_missing'],
    breaks: ['modern gateway:modern:result-type must'],
  },
  {
    fault: 'cache hints missing',
    named: ['discover: discover_malformed'],
    breaks: ['modern gateway:modern:cache-hints must'],
  },
  {
    fault: 'mirrored headers ignored',
    named: [],
    breaks: ['version', 'method', 'name'].map((part) => `modern gateway:modern:header-mismatch#${part} must`),
  },
  {
    fault: 'capability refused',
    named: ['list: list_refused'],
    breaks: ['modern', 'legacy'].map((era) => `${era} tools:capability:declared must`),
  },
  {
    fault: 'capability undeclared',
    named: [],
    breaks: ['modern', 'legacy'].map((era) => `${era} tools:capability:declared must`),
  },
  {
    fault: 'endless pages',
    named: ['list: pagination_endless'],
    breaks: ['modern', 'legacy'].map((era) => `${era} pagination:exhaustion must`),
  },
  {
    fault: 'invalid schema',
    named: [],
    breaks: ['modern', 'legacy'].map((era) => `${era} tools:input-schema:json-schema-2020-12 must`),
  },
  { fault: 'unknown session served', named: [], breaks: ['legacy hosting:session:unknown-id must'] },
  { fault: 'session survives DELETE', named: [], breaks: ['legacy hosting:session:post-termination-404 must'] },
];

describe('a planted fault', () => {
  for (const { fault, named, breaks, timeoutMs, demandsToken = false } of rows) {
    const limit = timeoutMs === undefined ? {} : { timeoutMs };

    it(`${fault}: doctor names the step`, verifies('gateway:doctor:fault-named'), async () => {
      const { url } = await startFaulty({ fault, demandsToken });
      const reports = await doctor(at(url), limit);
      expect(failures(reports)).toEqual(named);
      for (const { failure } of reports) {
        if (failure === undefined) continue;
        expect(failure.rule).toMatch(/^https:\/\//);
        expect(failure.cure).not.toBe('');
        expect(failure.bytes?.sent).toContain(' HTTP/1.1');
      }
    });

    it(`${fault}: check reports what it breaks`, verifies('gateway:check:fault-named'), async () => {
      const { url } = await startFaulty({ fault, demandsToken });
      const reports = await check(at(url), limit);
      expect(broken(reports)).toEqual(expect.arrayContaining([...breaks]));
      const untested = new Set(reports.flatMap(({ outcome, reason }) => (outcome === 'not-tested' ? [reason] : [])));
      const [finding] = (named[0] ?? '').split(': ').slice(1);
      if (breaks.length === 0) expect([...untested].join()).toContain(`${finding}: `);
    });
  }
});

describe('a server that keeps the rules', () => {
  it('passes every step of doctor', verifies('gateway:doctor:no-false-alarm'), async () => {
    const { url } = await startFaulty();
    expect(failures(await doctor(at(url)))).toEqual([]);
  });

  it('breaks no check', verifies('gateway:check:no-false-alarm'), async () => {
    const { url } = await startFaulty();
    const reports = await check(at(url));
    expect(complaints(reports)).toEqual([]);
    expect(reports.filter(({ outcome }) => outcome === 'held').length).toBeGreaterThanOrEqual(60);
  });

  it('leads from its 401 to an authorization server', verifies('gateway:doctor:no-false-alarm'), async () => {
    const { url } = await startFaulty({ demandsToken: true });
    const reports = await doctor(at(url));
    expect(failures(reports)).toEqual([]);
    const passed = reports.filter(({ state }) => state === 'ok').map(({ step }) => step);
    expect(passed).toEqual(
      expect.arrayContaining(['challenge', 'resource metadata', 'server metadata', 'registration']),
    );
  });
});
