/**
 * Clients that are asked something and never come back, one or a thousand: their time ends, and with it all that they
 * held.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { expectRefused, text } from '../harness/behind.ts';
import { type Answer, begin, type Json, send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { configFile, serve } from '../harness/program.ts';
import { AskingBackend, type Transport, transports } from '../harness/server-requests.ts';
import { heldNoMore, holding, watched } from '../harness/watch.ts';

const capabilities = { elicitation: {} };
const calling = (name: string, more: Json = {}) =>
  modern({ id: 1, method: 'tools/call', params: { name, ...more }, capabilities });
const answering = { inputResponses: { 'ask-1': { action: 'accept', content: { name: 'Ada' } } } };
const refused = { code: -32602, message: 'Invalid requestState', reason: 'invalid_request_state', id: 1 };
/** The JSON-RPC answer, whether it came as JSON or at the end of a stream. */
const messageOf = ({ headers, events, json }: Answer): Json =>
  headers['content-type'] === 'application/json' ? json() : events.at(-1)?.json();
/** Why it was refused, or what kind of result it has. */
const outcomeOf = (answer: Answer): string => {
  const { error, result } = messageOf(answer);
  return error?.data.reason ?? result.resultType;
};

/** Longer than bodies may take, and than streams may be silent. */
const SHARED_TIMERS_MS = 40_000;
const HOUR = 3_600_000;

async function behind(transport: Transport, limits: Readonly<Record<string, number>>, more: Json = {}) {
  const clock = new LeapClock();
  const backend = await AskingBackend.start(transport, more);
  const other = await AskingBackend.start('http');
  const gateway = await startGateway({ backends: { b: backend.config, other: other.config }, limits }, { clock });
  for (const one of gateway.assembled.backends) await one.discover();
  const [url, elsewhere] = [gateway.url('b'), gateway.url('other')];
  return { clock, backend, gateway, url, elsewhere, idle: clock.pending };
}

describe.each(transports)('a modern client that never returns to a call at a backend over %s', (transport) => {
  it(
    'has its call cancelled, and leaves neither timers nor sessions',
    verifies('gateway:bridge:parked-expires'),
    async () => {
      // Longer than any call may take: it is the client that is waited for, and not the backend.
      const limits = { parkedMs: HOUR, parkedTotal: 1, parkedPerPrincipal: 1, processIdleMs: HOUR };
      const { clock, backend, gateway, url, idle } = await behind(transport, limits, {});
      for (const round of [1, 2, 3]) {
        const { requestState } = (await send(url, calling('greet'))).json().result;
        clock.leap(HOUR - 5_000);
        expect(backend.cancelled).toHaveLength(round - 1);
        clock.leap(5_000);
        await backend.expectCancelled(backend.calls);
        expectRefused(await send(url, calling('greet', { ...answering, requestState })), 200, refused);
        clock.leap(SHARED_TIMERS_MS);
        // A pooled session stays for the next one.
        await until(() => clock.pending <= idle + 1, `only ${idle} timers are set, and one for the session`);
      }
      clock.leap(3 * HOUR);
      await backend.ended(1);
      await until(() => clock.pending <= idle, `only ${idle} timers are set`);
      expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
    },
  );

  it(
    'and closes the stream while its round is running has the call cancelled',
    verifies('gateway:bridge:cancel-up', 'gateway:bridge:parked-expires'),
    async () => {
      const { clock, backend, url, idle } = await behind(transport, { parkedMs: HOUR, sseAfterMs: 0 });
      const { requestState } = messageOf(await send(url, calling('stuck'))).result;
      const round = begin(url, calling('stuck', { ...answering, requestState }));
      await until(() => backend.answers.length === 1, 'the backend has its answer');
      await round.answer;
      expect(backend.cancelled).toEqual([]);
      round.drop();
      await backend.expectCancelled(backend.calls);
      // Neither the state nor what the backend says now leads anywhere.
      const again = await send(url, calling('stuck', { ...answering, requestState }));
      expect(again.body).toContain('invalid_request_state');
      backend.calls[0]?.finish(text('too late'));
      expect((await send(url, calling('plain'))).body).not.toContain('too late');
      clock.leap(SHARED_TIMERS_MS);
      await until(() => clock.pending <= idle + 1, `only ${idle} timers are set, and one for the session`);
    },
  );
});

// As long as it takes where the machine has other things to do.
const patiently = { ...verifies('gateway:bridge:parked-expires'), timeout: 90_000 };

describe('a thousand modern clients that never return', patiently, () => {
  const AT_ONCE = 50;
  const STEP_MS = 1000;
  /** So much in each request that it would be noticed if they were kept. */
  const PADDING = 40_000;

  /** How many of them had which outcome. */
  async function come(clients: number, url: string, args: Json = {}): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    const one = async () => {
      const outcome = outcomeOf(await send(url, calling('greet', { arguments: args })));
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    };
    for (let n = 0; n < clients; n += AT_ONCE) await Promise.all(Array.from({ length: AT_ONCE }, one));
    return counts;
  }

  it('use no more than the limits, block no other client, and leave nothing open', async () => {
    const most = 100;
    const limits = { parkedMs: HOUR, parkedPerPrincipal: most, asksPerSession: 2 * most, processIdleMs: HOUR };
    const { clock, backend, gateway, url, elsewhere, idle } = await behind('http', limits);
    const asking = () => backend.calls.filter(({ message }) => message.params.name === 'greet');
    // Those who come later have the same room: nothing of the first is left.
    for (const clients of [1000, 2 * most]) {
      const before = backend.cancelled.length;
      const began = clock.now();
      expect(await come(clients, url)).toEqual({ input_required: most, too_many_parked: clients - most });
      // The calls of those for whom there was no room are over at once.
      await until(() => backend.cancelled.length === before + clients - most, 'the calls of the others are cancelled');
      // Whoever has no question to answer goes on, at that backend and elsewhere.
      for (const address of [url, elsewhere])
        expect((await send(address, calling('plain'))).json().result).toMatchObject(text('Hello '));
      // In steps, so that what is sent in one of them is not too late in the next: their time is over one after the
      // other.
      const took = clock.now() - began;
      clock.leap(HOUR - took);
      for (let left = took; left > 0; left -= STEP_MS) {
        clock.leap(STEP_MS);
        await send(elsewhere, calling('plain'));
      }
      await backend.expectCancelled(asking());
      clock.leap(SHARED_TIMERS_MS);
      await until(() => clock.pending <= idle + 2, 'only the timers of two sessions are set');
    }
    clock.leap(3 * HOUR);
    await backend.ended(1);
    await until(() => clock.pending <= idle, `only ${idle} timers are set`);
    expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('take half of the processes of a backend at most, and give them back', async () => {
    const limits = { parkedMs: HOUR, processIdleMs: HOUR };
    const { clock, backend, gateway, url, elsewhere } = await behind('stdio', limits, { maxProcesses: 4 });
    for (let n = 0; n < 2; n++) expect(outcomeOf(await send(url, calling('greet')))).toBe('input_required');
    for (let n = 0; n < 20; n++) expect(outcomeOf(await send(url, calling('greet')))).toBe('too_many_parked');
    const asked = [...backend.calls];
    // Nobody else is kept from this backend, or from another one.
    for (const place of [url, elsewhere])
      expect((await send(place, calling('plain'))).json().result).toMatchObject(text('Hello '));
    clock.leap(HOUR);
    await backend.expectCancelled(asked);
    // The room is there for whoever comes next.
    expect(outcomeOf(await send(url, calling('greet')))).toBe('input_required');
    expect(gateway.log.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('leave no sockets and no memory', async () => {
    const backend = await AskingBackend.start('http');
    const most = 100;
    const limits = { parkedMs: 500, parkedPerPrincipal: most, asksPerSession: 2 * most };
    const places = await serve([], watched(configFile({ backends: { b: backend.config }, limits })));
    const wave = async (clients: number) => {
      const padding = 'x'.repeat(PADDING);
      const { input_required = 0, too_many_parked = 0 } = await come(clients, places.url('b'), { padding });
      expect(input_required).toBeGreaterThanOrEqual(most);
      expect(input_required + too_many_parked).toBe(clients);
      await backend.expectCancelled(backend.calls);
    };
    // The first one opens what is kept: connections, compiled code.
    await wave(2 * most);
    const first = await holding(places.program);
    await wave(6 * most);
    // Half of what their requests alone would take.
    await heldNoMore(places.program, first.resources, 8000, first.bytes + 3 * most * PADDING);
    expect(places.program.stderr).not.toContain('unexpected failure');
  });
});
