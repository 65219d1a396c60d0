/** Streams that are resumed at any replica: each event once. */
import { expect, it } from 'vitest';
import { call, Held, log, request, result, text } from '../interaction/harness/behind.ts';
import { connectLegacy } from '../interaction/harness/eras.ts';
import { legacyBackend } from '../interaction/harness/http-backend.ts';
import { verifies } from '../requirements/verifies.ts';
import { startReplicas } from './replicas.ts';

const RESUMPTIONS = 1_000;

it('a stream that is resumed a thousand times at changing replicas repeats and loses no event', {
  ...verifies('gateway:replicas:resumed'),
  timeout: 180_000,
}, async () => {
  const held = new Held();
  const backend = await legacyBackend({ 'tools/call': held.take });
  const limits = { sseAfterMs: 0, eventsPerStream: 2_000 };
  const { url, balancer } = await startReplicas({ backends: { b: { url: backend.url } }, limits });
  const client = await connectLegacy(url);
  let stream = await client.stream(call('c'));
  const turn = await held.nth(1);
  turn.stream();
  const ids: (string | undefined)[] = [];
  const said: unknown[] = [];
  const note = ({ events }: typeof stream) => {
    for (const { id, data } of events)
      if (data) {
        ids.push(id);
        said.push(JSON.parse(data).params?.data);
      }
    return events.findLast(({ id }) => id !== undefined)?.id;
  };
  for (let n = 0; n < RESUMPTIONS; n++) {
    turn.event(log(`${n}`));
    await stream.message(({ params }) => params?.data === `${n}`);
    const last = note(stream) ?? '';
    stream.close();
    stream = await client.listen({ 'last-event-id': last });
    expect(stream.status).toBe(200);
  }
  turn.event(result(turn.message.id, text('done'))).end();
  await stream.message(({ id }) => id === 'c');
  expect(said).toEqual(Array.from({ length: RESUMPTIONS }, (_, n) => `${n}`));
  expect(new Set(ids).size).toBe(RESUMPTIONS);
  expect(balancer.shareElsewhere(client.session)).toBeGreaterThan(0.5);
});

it(
  'a response that its replica has finished is replayed by another',
  verifies('gateway:replicas:resumed'),
  async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    const replicas = await startReplicas({ backends: { b: { url: backend.url } }, limits: { sseAfterMs: 0 } });
    const [owner, other] = replicas.all;
    const client = await connectLegacy(`${owner?.origin}/mcp`);
    const stream = await client.stream(call('c'));
    const turn = await held.nth(1);
    turn.stream().event(log('one'));
    await stream.message(({ params }) => params?.data === 'one');
    const last = stream.events.findLast(({ id }) => id !== undefined)?.id ?? '';
    stream.close();
    turn.event(result(turn.message.id, text('done'))).end();
    // The answer has arrived when the next one does.
    const ping = await client.post(request('p', 'ping'));
    expect(ping.status).toBe(200);
    owner?.program.kill('SIGTERM');
    await owner?.program.exited;
    const moved = Object.assign(Object.create(Object.getPrototypeOf(client)), client, { url: `${other?.origin}/mcp` });
    const rest = await moved.listen({ 'last-event-id': last });
    expect((await rest.message(({ id }: { id?: unknown }) => id === 'c')).result).toEqual(text('done'));
  },
);
