/** What was opened for a piece of work is gone when the work is done. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { isRunning } from '../../upstream/support/processes.ts';
import { call, Held, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type ScriptedBackend } from '../harness/http-backend.ts';
import { configFile, serve } from '../harness/program.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { heldNoMore, holding, watched } from '../harness/watch.ts';
import { scriptFor, works } from './works.ts';

/** Longer than bodies may take, and than streams may be silent; shorter than any answer of a backend may take. */
const SHARED_TIMERS_MS = 40_000;

/** Upstream sessions that were opened and not ended. */
function openSessions({ received }: ScriptedBackend, opened: number): number {
  return opened - received.filter(({ http }) => http === 'DELETE').length;
}

describe('when work is done', verifies('gateway:faults:no-leak'), () => {
  it('its timers and its sessions upstream are gone', async () => {
    const held = new Held();
    const script = scriptFor(held.take);
    const [legacy, newer] = [await legacyBackend(script), await modernBackend(script)];
    const clock = new LeapClock();
    // Two at a time are enough for each piece of work, and for nothing that was left behind.
    const limits = {
      sessionsTotal: 2,
      sessionsPerPrincipal: 2,
      sessionIdleMs: 60_000,
      processIdleMs: 60_000,
      parkedMs: 60_000,
      parkedTotal: 1,
    };
    const gateway = await startGateway(
      { backends: { legacy: { url: legacy.url }, modern: { url: newer.url } }, limits },
      { clock },
    );
    for (const backend of gateway.assembled.backends) await backend.discover();
    const idle = clock.pending;
    for (const round of [1, 2, 3]) {
      for (const { name, run } of works)
        await run(gateway, held).catch((error) => expect.fail(`${name}, ${round}: ${error}`));
      // Timers that many share run on for a little while; those of the work itself are longer, and would still be
      // there.
      clock.leap(SHARED_TIMERS_MS);
      await until(() => clock.pending <= idle, `only ${idle} timers are set`);

      // One that never comes back, and a call that nobody picks up again: they go when their time is over.
      await connectLegacy(gateway.url('legacy'));
      const asking = modern({
        method: 'tools/call',
        params: { name: 'ask' },
        capabilities: { elicitation: { form: {} } },
      });
      expect((await send(gateway.url('legacy'), asking)).json().result.resultType).toBe('input_required');
      clock.leap(3 * limits.sessionIdleMs);
      await until(() => clock.pending <= idle, `only ${idle} timers are set after all`);
      const opened = legacy.of('initialize').length;
      await until(() => openSessions(legacy, opened) === 0, 'all sessions upstream have ended');
    }
    for (const turn of held.turns) await turn.closed;
    await gateway.close();
    expect(clock.pending).toBe(0);
  });

  it('its sockets and its processes are gone', async () => {
    const held = new Held();
    const script = scriptFor(held.take);
    const [legacy, newer] = [await legacyBackend(script), await modernBackend(script)];
    const process = await legacyProcess({ 'tools/call': (turn) => turn.result(text('done')) });
    const backends = {
      legacy: { url: legacy.url },
      modern: { url: newer.url },
      process: { command: process.command, args: process.args },
    };
    const options = watched(configFile({ backends, limits: { sessionsTotal: 2 } }));
    const places = await serve([], options);
    const { program } = places;
    const round = async () => {
      for (const { name, run } of works) await run(places, held).catch((error) => expect.fail(`${name}: ${error}`));
      const client = await connectLegacy(places.url('process'));
      expect((await client.post(call(1))).json().result).toEqual(text('done'));
      await client.end();
      // The one that serves lists stays.
      const running = () => process.processes.filter(({ pid }) => isRunning(pid)).length;
      await until(() => running() <= 1, 'its process is gone');
    };
    // The first round opens what is kept for the next ones: connections to backends.
    await round();
    const { resources } = await holding(program);
    for (let n = 0; n < 5; n++) await round();
    // Its last process may have been gone for everybody but itself.
    await heldNoMore(program, { ...resources, ProcessWrap: 1 }, 8000);
    program.kill('SIGTERM');
    expect(await program.end()).toEqual({ code: 0, signal: null });
    expect(program.stderr).not.toContain('unexpected failure');
  });
});
