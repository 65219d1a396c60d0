/** One signed-in person floods the API: they are refused by name, and everyone else goes on. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Answer, send, until } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { modernBackend, type Turn } from '../harness/http-backend.ts';

async function setting() {
  const ring = keyRing();
  const [ada, bob] = [bearer(ring.make('ada')), bearer(ring.make('bob'))];
  const held: Turn[] = [];
  const done = { resultType: 'complete', content: [] };
  const backend = await modernBackend({
    'tools/call': (turn) => (turn.message.params.name === 'slow' ? void held.push(turn) : turn.result(done)),
  });
  const gateway = await startGateway({
    backends: { b: { url: backend.url } },
    identity: { keys: { file: ring.path } },
    console: { who: {}, try: { who: {} } },
  });
  const ask = (by: typeof ada): Promise<Answer> =>
    send(`${gateway.origin}/console/api/overview`, { method: 'GET', headers: by });
  const tryTool = (by: typeof ada): Promise<Answer> =>
    send(`${gateway.origin}/console/api/tools/try`, {
      body: { endpoint: '/mcp', tool: 'slow', arguments: {} },
      headers: { 'content-type': 'application/json', ...by },
    });
  const call = (by: typeof ada): Promise<Answer> =>
    send(gateway.url(), modern({ method: 'tools/call', params: { name: 'fast', arguments: {} }, headers: by }));
  return { ada, bob, held, done, ask, tryTool, call };
}

function expectTooMany(answer: Answer, why: string): void {
  expect(answer.status).toBe(429);
  expect(answer.headers['retry-after']).toBe('1');
  expect(answer.json().error).toEqual({ reason: 'too_many_requests', message: expect.stringContaining(why) });
}

describe('a person who floods the API', verifies('gateway:console:flood'), () => {
  it('is refused while many of their requests run', async () => {
    const { ada, bob, held, done, ask, tryTool, call } = await setting();
    const running = Array.from({ length: 16 }, () => tryTool(ada));
    await until(() => held.length === 16, 'all of them run');
    expectTooMany(await ask(ada), 'are running');
    expect((await ask(bob)).status).toBe(200);
    expect((await call(ada)).status).toBe(200);
    for (const turn of held) turn.result(done);
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
    expect((await ask(ada)).status).toBe(200);
  });

  it('is refused when they ask too often', async () => {
    const { ada, bob, ask, call } = await setting();
    let answers: Answer[] = [];
    for (let n = 0; n < 100 && answers.every(({ status }) => status === 200); n++)
      answers = await Promise.all(Array.from({ length: 15 }, () => ask(ada)));
    expectTooMany(answers.find(({ status }) => status !== 200)!, 'times a second');
    expect((await ask(bob)).status).toBe(200);
    expect((await call(ada)).status).toBe(200);
  });
});
