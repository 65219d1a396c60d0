/** 10,000 principals, refused and accepted: what is kept of them is bounded, in every place that keeps something. */
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import type { RecordedFacts } from '../../../src/console/recorded-call.ts';
import { ConsoleRecorder } from '../../../src/console/recorder.ts';
import { keyPrincipal } from '../../../src/identity/principal.ts';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { scrape } from './scrape.ts';

const FLOOD = 10_000;
const AT_ONCE = 50;

/** The last 2,000 principals, and 256 kinds of coalesced lines with one for the rest. */
const most = { people: 2_000, lines: 257 } as const;

it('refused keys add no person, no series, and a bounded number of log lines', {
  ...verifies('gateway:console:cost', 'gateway:observe:refusals'),
  timeout: 60_000,
}, async () => {
  const ring = keyRing();
  const ada = ring.make('ada');
  const gateway = await startGateway(
    {
      backends: {},
      identity: { keys: { file: ring.path } },
      listen: { trustedProxies: ['127.0.0.1'] },
      log: { requests: true },
      console: { who: { keys: ['ada'] } },
    },
    { control: true },
  );
  const attempt = (at: number) => {
    const from = { 'x-forwarded-for': `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}` };
    return send(
      gateway.url(),
      modern({ method: 'server/discover', headers: { ...bearer(`bsk_made-up-${at}`), ...from } }),
    );
  };
  expect((await send(gateway.url(), modern({ method: 'server/discover', headers: bearer(ada) }))).status).toBe(200);
  expect((await attempt(0)).status).toBe(401);
  const before = scrape(gateway).length;
  for (let at = 1; at < FLOOD; at += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, more) => attempt(at + more)));
  expect(scrape(gateway).length).toBe(before);
  const answer = await gateway.assembled.operating?.operate({
    method: 'GET',
    path: '/people',
    query: new URLSearchParams(),
    body: undefined,
  });
  expect(answer?.body).toMatchObject({ total: 1 });
  const refusals = gateway.log.filter(({ text }) => text.startsWith('request refused'));
  expect(refusals.length).toBeLessThanOrEqual(most.lines);
  expect(JSON.stringify(gateway.log)).not.toContain('bsk_made-up');
});

it('accepted principals beyond the bound make room for each other', verifies('gateway:console:cost'), () => {
  const recorder = new ConsoleRecorder({
    clock: systemClock,
    timeOfDay: Date.now,
    calls: 1_000,
    isOn: true,
    bodyBytes: undefined,
  });
  for (let at = 0; at < FLOOD; at++) {
    const principal = keyPrincipal({ id: String(at), name: `made-up-${at}`, scopes: [] });
    for (const client of ['a', 'b'])
      recorder.people.saw(principal, { client, revision: '2026-07-28', endpoint: '/mcp' } as RecordedFacts);
  }
  const loud = keyPrincipal({ id: 'loud', name: 'loud', scopes: [] });
  for (let at = 0; at < FLOOD; at++)
    recorder.people.saw(loud, { client: `client-${at}`, revision: '2026-07-28', endpoint: '/mcp' } as RecordedFacts);
  expect(recorder.people.all().length).toBeLessThanOrEqual(most.people);
  expect(recorder.people.get(loud.key)?.uses.size).toBeLessThanOrEqual(16);
});
