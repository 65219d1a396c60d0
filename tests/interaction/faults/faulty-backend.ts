/** Backends over HTTP that do whatever comes to their mind, until they are calmed. */

import { request, text } from '../harness/behind.ts';
import {
  launchLegacyBackend,
  launchModernBackend,
  type Script,
  type ScriptedBackend,
  type Turn,
} from '../harness/http-backend.ts';
import type { Chance } from './chance.ts';

export interface FaultyBackends {
  readonly legacy: ScriptedBackend;
  readonly modern: ScriptedBackend;
  /** From now on they behave. */
  calm(): void;
  close(): Promise<void>;
}

const done = { resultType: 'complete', ...text('done') };
const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
const halfAnEvent = 'data: {"jsonrpc":"2.0",';

/** The outcomes of a call. A stalled one is never answered: the gateway cancels it. */
const moods: readonly ((turn: Turn, chance: Chance) => void)[] = [
  (turn) => turn.result(done),
  (turn) => turn.result({ ...done, padding: 'x'.repeat(200_000) }),
  (turn) => turn.error(-32000, 'Not today'),
  (turn) => turn.error(-32602, 'Not like this', undefined, 400),
  (turn) => turn.cut(),
  (turn) => turn.raw(500, { 'content-type': 'text/html' }, '<h1>Oops</h1>'),
  (turn) => turn.raw(202, {}),
  (turn) => turn.raw(404, {}),
  (turn, chance) => turn.raw(200, { 'content-type': 'application/json' }, chance.bytes(200)),
  (turn, chance) => turn.stream().bytes(chance.bytes(200)).end(),
  () => undefined,
  (turn) => turn.stream(),
  (turn) => turn.stream().bytes(halfAnEvent).cut(),
  (turn) => {
    turn.stream();
    for (let n = 0; n < 20; n++) {
      turn.event({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: turn.message.params?._meta?.progressToken ?? 1, progress: n },
      });
    }
    turn.event({ jsonrpc: '2.0', id: turn.message.id, result: done }).end();
  },
  (turn) => {
    const answer = { jsonrpc: '2.0', id: turn.message.id, result: done };
    turn
      .stream()
      .event({ ...answer, id: 'nobody' })
      .event(answer)
      .event(answer)
      .end();
  },
  (turn) => turn.stream().event(request('q', 'elicitation/create', form)),
  (turn) => turn.stream().event({ jsonrpc: '2.0', id: turn.message.id, result: done }, { id: '1', retry: 1 }).end(),
];

/** And of a standalone stream. */
const standing: typeof moods = [
  (turn) => void turn.stream(),
  (turn) => turn.raw(405, {}),
  (turn) => turn.cut(),
  (turn) => turn.stream().bytes(halfAnEvent).cut(),
  (turn) => turn.stream().event({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' }).end(),
  (turn) => void turn.stream().event(request('q', 'roots/list')),
];

export async function launchFaulty(chance: Chance): Promise<FaultyBackends> {
  let calm = false;
  const faulty = (turn: Turn) => (calm ? moods[0] : chance.pick(moods))?.(turn, chance);
  const seldom = (well: (turn: Turn) => void) => (turn: Turn) => (calm || !chance.once(8) ? well(turn) : faulty(turn));
  const listed = { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' };
  const script: Script = {
    'tools/call': faulty,
    'resources/read': faulty,
    'subscriptions/listen': faulty,
    'tools/list': seldom((turn) => turn.result(listed)),
    GET: (turn) => (calm ? standing[0] : chance.pick(standing))?.(turn, chance),
  };
  const [legacy, modern] = await Promise.all([launchLegacyBackend(script), launchModernBackend(script)]);
  return {
    legacy,
    modern,
    calm: () => {
      calm = true;
    },
    close: async () => {
      await Promise.all([legacy.close(), modern.close()]);
    },
  };
}
