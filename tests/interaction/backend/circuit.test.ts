/** Backends that go away and come back: what their callers are told, and what it costs them. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { call, refusal, result, text } from '../harness/behind.ts';
import { send, until } from '../harness/client.ts';
import { LeapClock } from '../harness/clock.ts';
import { connectLegacy, eras, initialize } from '../harness/eras.ts';
import { startGateway, type TestGateway } from '../harness/gateway.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { type BreakableBackend, breakable } from './breakable-backend.ts';
import { answered, type Caller, caller, ended, leftAlone, timedOut, unavailable } from './setup.ts';

/** So long that no look comes before the test says so. */
const pauseMs = 600_000;
const limits = { restartMinMs: pauseMs, restartMaxMs: 10 * pauseMs, downAfter: 3, probeMs: 5_000, firstByteMs: 60_000 };
const stopped = verifies('gateway:backend:limit-connect', 'gateway:backend:probe-no-verdict');

const asked = { name: 'p' };
const prompt = { messages: [{ role: 'user', content: { type: 'text', text: 'hello' } }] };
const script: Script = {
  'prompts/get': (turn) => turn.result({ resultType: 'complete', ...prompt }),
};

interface Watched {
  readonly gateway: TestGateway;
  readonly clock: LeapClock;
  /** What was told of the backend. */
  readonly states: string[];
  became(state: string): Promise<void>;
}

async function before(backend: object, more: object = {}): Promise<Watched> {
  const clock = new LeapClock();
  const gateway = await startGateway({ backends: { b: backend }, limits: { ...limits, ...more } }, { clock });
  const states: string[] = [];
  const live = gateway.assembled.backends.get('b');
  live?.onChange(({ state }) => states.push(state));
  return {
    gateway,
    clock,
    states,
    became: (state) => until(() => live?.state.state === state, `the backend is ${state}`),
  };
}

async function startBreakable(
  era: (typeof eras)[number],
): Promise<Watched & { link: BreakableBackend; client: Caller }> {
  const backend = era === 'modern' ? await modernBackend(script) : await legacyBackend(script);
  const link = await breakable(backend);
  const watched = await before({ url: link.url });
  const client = await caller(era, watched.gateway.url('b'));
  expect(answered(await client.ask(0, 'prompts/get', asked))).toMatchObject(result(0, prompt));
  return { ...watched, link, client };
}

const get = async (client: Caller, id: number) => answered(await client.ask(id, 'prompts/get', asked));

describe.each(eras)('a %s backend over HTTP', stopped, (era) => {
  it('that was killed is not even tried any more, and is served again once it is back', async () => {
    const { clock, link, client, states, became } = await startBreakable(era);
    await link.shut();
    for (const id of [1, 2, 3]) expect(await get(client, id)).toEqual(refusal({ ...unavailable, id }));
    expect(states).toEqual(['ready', 'down']);
    expect(await get(client, 4)).toEqual(refusal({ ...leftAlone, id: 4 }));
    // Even one that is there again is left alone until it was looked at.
    await link.open();
    for (const id of [5, 6]) expect(await get(client, id)).toEqual(refusal({ ...leftAlone, id }));
    expect(link.connections).toBe(0);
    clock.leap(pauseMs);
    await became('ready');
    expect(await get(client, 7)).toMatchObject(result(7, prompt));
    expect(states).toEqual(['ready', 'down', 'ready']);
  });

  it('is found to be down after one call that did not reach it, without another call', async () => {
    const { clock, link, client, became } = await startBreakable(era);
    await link.shut();
    expect(await get(client, 1)).toEqual(refusal({ ...unavailable, id: 1 }));
    clock.leap(pauseMs);
    await became('down');
  });

  it('that stalls costs one call its timeout, and the next ones nothing', async () => {
    const { clock, link, client, states, became } = await startBreakable(era);
    link.stall();
    const { bytes } = link;
    const stalling = get(client, 1);
    await until(() => link.bytes > bytes, 'the call came to the link');
    clock.leap(limits.firstByteMs + 1_000);
    expect(await stalling).toEqual(refusal({ ...timedOut('firstByteMs'), id: 1 }));
    const afterwards = link.bytes;
    clock.leap(pauseMs);
    await until(() => link.bytes > afterwards, 'the backend is looked at');
    clock.leap(limits.probeMs);
    await became('down');
    const seen = link.bytes;
    const refused = { ...leftAlone, message: expect.stringMatching(/^Backend timed out/) };
    for (const id of [2, 3]) expect(await get(client, id)).toEqual(refusal({ ...refused, id }));
    expect(link.bytes).toBe(seen);
    await link.open();
    clock.leap(pauseMs);
    await became('ready');
    expect(await get(client, 4)).toMatchObject(result(4, prompt));
    expect(states).toEqual(['ready', 'down', 'ready']);
  });
});

describe('a backend that was never up', stopped, () => {
  it('is found to be down by the probe alone, and is served once it is up', async () => {
    const backend = await legacyBackend({ ...script, 'tools/call': (turn) => turn.result(text('done')) });
    const link = await breakable(backend);
    await link.shut();
    const { gateway, clock, became } = await before({ url: link.url });
    const begin = async () => (await send(gateway.url('b'), { body: initialize() })).json();
    expect(await begin()).toEqual(refusal({ ...unavailable, id: 'init' }));
    await link.open();
    expect(await begin()).toEqual(refusal({ ...leftAlone, id: 'init' }));
    expect(link.connections).toBe(0);
    clock.leap(pauseMs);
    await became('ready');
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(call(1))).json()).toEqual(result(1, text('done')));
  });
});

describe('a stdio backend whose program exits at once', verifies('gateway:backend:restart'), () => {
  /** Far more than is leapt over while a process starts. */
  const patient = { probeMs: 1e9, firstByteMs: 1e9 };

  /** A program that notes each start, and ends unless it was mended. */
  async function broken() {
    const backend = await legacyProcess({ 'tools/call': (turn) => turn.result(text('done')) });
    const folder = await mkdtemp(join(tmpdir(), 'circuit-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [program, starts, mended] = ['program.mjs', 'starts', 'mended'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const [puppet = '', ...args] = backend.args;
    await writeFile(starts, '');
    await writeFile(
      program,
      `import { appendFileSync, existsSync } from 'node:fs';
      appendFileSync(${JSON.stringify(starts)}, 'x');
      if (!existsSync(${JSON.stringify(mended)})) process.exit(1);
      await import(${JSON.stringify(pathToFileURL(puppet).href)});`,
    );
    return {
      config: { command: backend.command, args: [program, ...args] },
      starts: async () => (await readFile(starts, 'utf8')).length,
      mend: () => writeFile(mended, ''),
    };
  }

  it('is not started again once that is known, and is served once it is fixed', async () => {
    const { config, starts, mend } = await broken();
    const { gateway, clock, states, became } = await before(config, patient);
    const begin = async () => (await send(gateway.url('b'), { body: initialize() })).json();
    const first = begin();
    // No pause passes once it is down: after one more the gateway would look again.
    await until(() => {
      if (states.length === 0) clock.leap(pauseMs);
      return states.length > 0;
    }, 'the backend is down');
    expect(await first).toEqual(refusal({ ...ended, id: 'init' }));
    expect(states).toEqual(['down']);
    const started = await starts();
    for (let n = 0; n < 3; n += 1) {
      expect(await begin()).toEqual(refusal({ ...leftAlone, message: ended.message, id: 'init' }));
    }
    expect(await starts()).toBe(started);
    await mend();
    await hurried(clock, became('ready'));
    const client = await connectLegacy(gateway.url('b'));
    expect((await client.post(call(1))).json()).toEqual(result(1, text('done')));
    expect(states).toEqual(['down', 'ready']);
  });
});

/** Pauses pass as soon as they begin, until the promise is settled. */
async function hurried(clock: LeapClock, promise: Promise<unknown>): Promise<void> {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  await until(() => {
    if (!settled) clock.leap(pauseMs);
    return settled;
  }, 'the pauses are over');
}
