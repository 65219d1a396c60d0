/** Checks of calls while they run, of resumed streams, and of HTTP+SSE: each planted fault is named. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { at, broken, check, complaints } from './inspect.ts';
import { type OlderFault, startOlder } from './older-server.ts';
import { type StreamFault, startStreaming } from './streaming-server.ts';

const legacyOnly = { eras: ['legacy'] } as const;
const echo = { tool: 'echo', args: {} };
const slow = { tool: 'slow', args: {} };
/** The call of `slow` that no check cancels ends with the time limit. */
const limit = { timeoutMs: 500 };

const outcomes = (reports: Awaited<ReturnType<typeof check>>, ids: readonly string[]) =>
  ids.map((id) => reports.find((report) => report.id === id)?.outcome);

const streamFaults: readonly { fault: StreamFault; breaks: readonly string[]; call?: typeof echo }[] = [
  { fault: 'progress falls', breaks: ['legacy protocol:progress:monotonic must'] },
  { fault: 'other progress token', breaks: ['legacy protocol:progress:callback must'] },
  { fault: 'progress unasked for', breaks: ['legacy protocol:progress:no-token must'] },
  {
    fault: 'client asked for the undeclared',
    breaks: ['legacy lifecycle:capability:client-not-declared must'],
  },
  { fault: 'cancelled call answered', breaks: ['legacy protocol:cancel:in-flight should'], call: slow },
  { fault: 'cancellation breaks the session', breaks: ['legacy protocol:cancel:unknown-id-ignored should'] },
  { fault: 'event ids repeated', breaks: ['legacy hosting:resume:event-ids must'] },
  { fault: 'nothing replayed', breaks: ['legacy hosting:resume:replay should'] },
  { fault: 'other stream replayed', breaks: ['legacy hosting:resume:stream-scoped must'] },
  { fault: 'unknown event crashes', breaks: ['legacy hosting:resume:bad-event-id should'] },
];

describe('a planted fault of streams', verifies('gateway:check:fault-named'), () => {
  it.each(streamFaults)('$fault is reported', async ({ fault, breaks, call = echo }) => {
    const reports = await check(at(await startStreaming(fault)), { ...legacyOnly, ...limit, call });
    expect(broken(reports), complaints(reports).join('\n\n')).toEqual(expect.arrayContaining([...breaks]));
  });
});

const live = [
  'protocol:progress:callback',
  'protocol:progress:monotonic',
  'protocol:progress:no-token',
  'lifecycle:capability:client-not-declared',
];
const resumption = ['bad-event-id', 'event-ids', 'replay', 'stream-scoped'].map((name) => `hosting:resume:${name}`);

describe('a server with streams that keeps the rules', verifies('gateway:check:no-false-alarm'), () => {
  it('holds what is checked in the middle of a call, and when a stream is resumed', async () => {
    const reports = await check(at(await startStreaming()), { ...legacyOnly, call: echo });
    const ids = [...live, ...resumption, 'protocol:cancel:unknown-id-ignored'];
    expect(outcomes(reports, ids)).toEqual(ids.map(() => 'held'));
    // `echo` has ended before it can be cancelled.
    expect(outcomes(reports, ['protocol:cancel:in-flight'])).toEqual(['not-tested']);
  });

  it('does not answer a call that was cancelled', async () => {
    const reports = await check(at(await startStreaming()), { ...legacyOnly, ...limit, call: slow });
    expect(outcomes(reports, ['protocol:cancel:in-flight'])).toEqual(['held']);
  });

  it('is not asked to call a tool that was not named', async () => {
    const reports = await check(at(await startStreaming()), legacyOnly);
    const ids = [...live, 'protocol:cancel:in-flight'];
    expect(outcomes(reports, ids)).toEqual(ids.map(() => 'not-tested'));
    expect(reports.find(({ id }) => id === ids[0])?.reason).toBe('no tool is named (--call)');
  });
});

const olderFaults: readonly { fault: OlderFault; breaks: readonly string[] }[] = [
  { fault: 'endpoint missing', breaks: ['legacy transport:sse:endpoint-event must'] },
  { fault: 'endpoint elsewhere', breaks: ['legacy transport:sse:endpoint-event must'] },
  { fault: 'endpoint late', breaks: ['legacy transport:sse:endpoint-event must'] },
  { fault: 'POST answered with 200', breaks: ['legacy transport:sse#accepted should'] },
  { fault: 'answers unnamed', breaks: ['legacy transport:sse#answers must'] },
  { fault: 'one address for all', breaks: ['legacy transport:sse:post:session-routing#apart must'] },
  { fault: 'unknown session served', breaks: ['legacy transport:sse:post:session-routing#unknown should'] },
  { fault: 'origin ignored', breaks: ['legacy transport:streamable-http:origin-validation#sse must'] },
];

describe('a planted fault of HTTP+SSE', verifies('gateway:check:fault-named'), () => {
  it.each(olderFaults)('$fault is reported', async ({ fault, breaks }) => {
    const reports = await check(at(await startOlder(fault)), limit);
    expect(broken(reports), complaints(reports).join('\n\n')).toEqual(expect.arrayContaining([...breaks]));
  });
});

it(
  'a server over HTTP+SSE that keeps the rules breaks no check',
  verifies('gateway:check:no-false-alarm'),
  async () => {
    const reports = await check(at(await startOlder()));
    expect(complaints(reports)).toEqual([]);
    const ids = [
      'transport:sse:endpoint-event',
      'transport:sse#answers',
      'transport:sse#accepted',
      'gateway:exchange:id-types',
    ];
    expect(
      outcomes(
        reports.filter(({ era }) => era === 'legacy'),
        ids,
      ),
    ).toEqual(ids.map(() => 'held'));
  },
);
