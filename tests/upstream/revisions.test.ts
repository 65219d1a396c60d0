/**
 * A backend is spoken to in the revisions that its profile has, and in no other: also when it is found out what it is.
 */
import { describe, expect, test } from 'vitest';
import { LiveBackend } from '../../src/upstream/backend.ts';
import { Backoff } from '../../src/upstream/backoff.ts';
import { revisionFor } from '../../src/upstream/handshake.ts';
import { probe } from '../../src/upstream/probe.ts';
import type { Transport } from '../../src/upstream/verdict.ts';
import { type Revision, revisions } from '../../src/wire/revisions.ts';
import { client, LaneRecorder, limits, OddNotes, permit } from './support/calls.ts';
import { ManualClock } from './support/clock.ts';
import { agree, type Rule, rules, ScriptedConnector } from './support/scripted-connector.ts';

const legacy = revisions.filter((revision) => revision < '2026-07-28');

function probed(transport: Transport, spoken: readonly Revision[], rule: Rule) {
  const connector = new ScriptedConnector(transport, rule);
  const probing = probe({ connector, limits, clock: new ManualClock(), self: '{}', revisions: spoken });
  probing.catch(() => undefined);
  return { connector, probing };
}

/** Agrees on its own revision, whatever is put forward. */
const stubborn =
  (protocolVersion: string): Rule =>
  (asked) =>
    asked.result({ protocolVersion, capabilities: {}, serverInfo: { name: 's' } });

describe.each(['http', 'stdio'] as const)('over %s', (transport) => {
  test('without a modern revision no modern request is sent', async () => {
    const { connector, probing } = probed(transport, legacy, rules.dual);
    expect((await probing).discovery).toMatchObject({ eras: ['legacy'], revision: '2025-11-25' });
    expect(connector.log).toEqual([['initialize']]);
  });

  test('the newest of the legacy ones is put forward', async () => {
    const { connector, probing } = probed(transport, ['2025-03-26', '2025-06-18'], rules.legacy);
    expect((await probing).discovery.revision).toBe('2025-06-18');
    expect(connector.channels[0]?.asked[0]?.json.params.protocolVersion).toBe('2025-06-18');
  });

  test('without a legacy revision no initialize is sent', async () => {
    const { connector, probing } = probed(transport, ['2026-07-28'], rules.dual);
    expect((await probing).discovery.eras).toEqual(['modern']);
    expect(connector.log).toEqual([['server/discover']]);
  });

  test('a backend of another revision is no backend', async () => {
    const { connector, probing } = probed(transport, ['2026-07-28'], rules.legacy);
    await expect(probing).rejects.toMatchObject({
      reason: 'backend_invalid',
      message: 'The backend supports no revision that its profile allows',
    });
    expect(connector.log).toEqual([['server/discover']]);
  });

  test('a backend that agrees on another revision than it may is no backend', async () => {
    const { probing } = probed(transport, ['2025-11-25'], stubborn('2024-11-05'));
    await expect(probing).rejects.toMatchObject({
      reason: 'backend_invalid',
      message: expect.stringContaining('2024-11-05, which its profile does not allow'),
    });
  });
});

test('a session is opened in one of them, whatever the revision of the client', async () => {
  const connector = new ScriptedConnector('http', (asked) => agree(asked));
  const pace = new Backoff({ restartMinMs: 500, restartMaxMs: 30_000 }, () => 1);
  const backend = new LiveBackend({
    ...{ name: 'b', connector, limits, clock: new ManualClock(), notes: new OddNotes(), self: '{}', share: false },
    backoff: pace,
    revisions: ['2025-06-18'],
  });
  const lane = await backend.open(permit, 'legacy', client('2025-11-25'), new LaneRecorder());
  expect(lane.discovery.revision).toBe('2025-06-18');
  await backend.close();
});

test.each([
  { client: '2025-06-18', spoken: revisions, expected: '2025-06-18' },
  { client: '2026-07-28', spoken: revisions, expected: '2025-11-25' },
  { client: '2025-06-18', spoken: ['2025-03-26', '2025-11-25'], expected: '2025-03-26' },
  { client: '2024-11-05', spoken: ['2025-03-26', '2025-11-25'], expected: '2025-11-25' },
] as const)('for a client of $client, of $spoken, it is $expected', ({ client: own, spoken, expected }) => {
  expect(revisionFor(own, spoken)).toBe(expected);
});
