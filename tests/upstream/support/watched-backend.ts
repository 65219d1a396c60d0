/** A backend on a clock that the test moves, and the changes that it reports. */
import { expect, onTestFinished } from 'vitest';
import { Failure } from '../../../src/errors/failure.ts';
import type { BackendState, UpstreamSession } from '../../../src/exchange/upstream-session.ts';
import { LiveBackend } from '../../../src/upstream/backend.ts';
import { Backoff } from '../../../src/upstream/backoff.ts';
import { CallRecorder, callOf, client, LaneRecorder, limits, OddNotes, permit, settleDown, toolCall } from './calls.ts';
import { ManualClock } from './clock.ts';
import { type Rule, rules, ScriptedConnector } from './scripted-connector.ts';

export const least = 500;
export const modernClient = client('2026-07-28');
export const legacyClient = client('2025-11-25');
export const away = new Failure('backend_unavailable');
export const unavailable: Rule = (asked) => asked.fail(away);

export function setUp(transport: 'stdio' | 'http', script: Rule[]) {
  const clock = new ManualClock();
  const connector = new ScriptedConnector(transport, ...script);
  const notes = new OddNotes();
  const events: BackendState[] = [];
  const backend = new LiveBackend({
    name: 'b',
    connector,
    limits,
    clock,
    backoff: new Backoff({ restartMinMs: least, restartMaxMs: 8_000 }, () => 1),
    notes,
    self: '{}',
    share: false,
  });
  backend.onChange((state) => events.push(state));
  onTestFinished(() => backend.close());
  /** Time passes, and what comes of it is done. */
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settleDown();
  };
  const states = () => events.map(({ state }) => state);
  /** What the backend was asked, on whatever channel. */
  const asked = () => connector.log.flat();
  return { backend, clock, connector, notes, events, states, pass, asked };
}

export async function modernLane(transport: 'stdio' | 'http') {
  const parts = setUp(transport, [rules.modern]);
  const lane = await parts.backend.open(permit, 'modern', modernClient, new LaneRecorder());
  const channel = parts.connector.channels[0];
  if (channel === undefined) throw new TypeError('no channel');
  return { ...parts, lane, channel };
}

/** How a call ends whose backend answers as the rule says. */
export async function end(lane: UpstreamSession): Promise<CallRecorder> {
  const sink = new CallRecorder();
  lane.call(permit, callOf(toolCall), sink);
  await settleDown();
  return sink;
}

export const refused = { reason: 'backend_unavailable', data: { retryAfterMs: expect.any(Number) } };
