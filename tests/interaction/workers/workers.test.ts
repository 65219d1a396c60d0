/**
 * `bascule serve --workers 3`: every request comes on a connection of its own, which the next worker takes. What one
 * of them has is reached from all.
 */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  expectAnsweredAnywhere,
  expectCancelledAnywhere,
  expectHeardAnywhere,
  expectRetriedAnywhere,
} from '../harness/anywhere.ts';
import { call, echo, Held, result, text } from '../harness/behind.ts';
import { type Call, send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { legacyBackend } from '../harness/http-backend.ts';
import { configFile, run, type Served } from '../harness/program.ts';
import { AskingBackend } from '../harness/server-requests.ts';
import { legacyProcess } from '../harness/stdio-backend.ts';
import { started, startedAll, WORKERS, workersOf } from './started.ts';

describe('a legacy session is served by all workers', verifies('gateway:workers:sessions'), () => {
  it('with one process of a stdio backend for each session', async () => {
    const backend = await legacyProcess({
      'tools/call': (turn) => turn.result(text(`${turn.process.pid} ${JSON.stringify(turn.message.params.arguments)}`)),
    });
    const served = await started({ backends: { b: { command: backend.command, args: backend.args } } });
    const clients = await Promise.all(Array.from({ length: WORKERS }, () => connectLegacy(served.url())));
    const pids = new Set<string>();
    for (const client of clients) {
      const said: string[] = [];
      for (let n = 0; n < 2 * WORKERS; n++)
        said.push((await client.post(call(n, { n }))).json().result.content[0].text);
      const [pid = ''] = (said[0] ?? '').split(' ');
      expect(said).toEqual(said.map((_, n) => `${pid} {"n":${n}}`));
      pids.add(pid);
    }
    expect(pids.size).toBe(WORKERS);
  });

  it('also where its client said too much of itself to be sealed', async () => {
    const backend = await legacyBackend(echo);
    const served = await started({ backends: { b: { url: backend.url } } });
    const experimental = { facts: 'x'.repeat(3000) };
    const client = await connectLegacy(served.url(), { capabilities: { experimental } });
    for (let n = 0; n < 2 * WORKERS; n++)
      expect((await client.post(call(n, { n }))).json()).toEqual(result(n, text(JSON.stringify({ n }))));
  });

  it('with bodies that are refused while they are sent', async () => {
    const backend = await legacyBackend(echo);
    const served = await started({ backends: { b: { url: backend.url } }, limits: { bodyBytes: 2048 } });
    const client = await connectLegacy(served.url());
    for (let n = 0; n < 2 * WORKERS; n++)
      expect((await client.post(call(n, { much: 'y'.repeat(3_000) }))).status).toBe(413);
  });

  it('with its stream, cancellation and DELETE', async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    const served = await started({ backends: { b: { url: backend.url } } });
    await expectCancelledAnywhere(served.url(), backend, held);
  });

  it.each(['http', 'stdio'] as const)(
    'with server requests of a %s backend, answered at any worker',
    async (transport) => {
      const backend = await AskingBackend.start(transport);
      const served = await started({ backends: { b: backend.config } });
      await expectAnsweredAnywhere(served.url());
    },
  );
});

it('a modern client retries a pending call at any worker', verifies('gateway:workers:pending'), async () => {
  const backend = await AskingBackend.start('http');
  const served = await started({ backends: { b: backend.config } });
  await expectRetriedAnywhere(served.url());
});

it('a client of HTTP+SSE sends its messages to any worker', verifies('gateway:workers:sessions'), async () => {
  const backend = await legacyBackend(echo);
  const served = await started({ backends: { b: { url: backend.url } } });
  await expectHeardAnywhere(`${served.origin}/sse`);
});

describe('a worker that is killed', verifies('gateway:workers:replaced'), () => {
  it('is replaced, and its sessions go on there', async () => {
    const backend = await legacyBackend(echo);
    const served = await started({ backends: { b: { url: backend.url } } });
    const clients = await Promise.all(Array.from({ length: WORKERS }, () => connectLegacy(served.url())));
    const before = workersOf(served);
    expect(before).toHaveLength(WORKERS);
    const [victim = 0] = before;
    process.kill(victim, 'SIGKILL');
    await until(() => {
      const now = workersOf(served);
      return now.length === WORKERS && !now.includes(victim);
    }, 'it is replaced');
    // The new worker takes connections as soon as it listens: until then the others do.
    for (const client of clients)
      for (let n = 0; n < 2 * WORKERS; n++)
        expect((await client.post(call(n, { n }))).json()).toEqual(result(n, text(JSON.stringify({ n }))));
  });
});

describe('a worker that hangs', verifies('gateway:workers:replaced'), () => {
  /** Stopped, with a session at it. */
  async function hanging() {
    const backend = await legacyBackend(echo);
    const served = await started({ backends: { b: { url: backend.url } } });
    const [victim = 0] = workersOf(served);
    const clients = await Promise.all(Array.from({ length: WORKERS }, () => connectLegacy(served.url())));
    process.kill(victim, 'SIGSTOP');
    onTestFinished(() => {
      // It was killed meanwhile, in most tests.
      if (workersOf(served).includes(victim)) process.kill(victim, 'SIGCONT');
    });
    return { served, victim, clients };
  }

  /** On a connection of its own. Waits for as long as it takes. */
  const post = async ({ url }: Served, { headers = {}, body }: Call) => {
    const accept = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const asking = request(url(), { method: 'POST', agent: false, headers: { ...accept, ...headers } });
    asking.end(JSON.stringify(body));
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    return { status: answer.statusCode, body: (await answer.setEncoding('utf8').toArray()).join('') };
  };
  const anyCall = (served: Served) =>
    post(served, modern({ method: 'tools/call', params: { name: 'work', arguments: {} } }));

  it('and is killed leaves the connections that it did not take to the others', async () => {
    const { served, victim } = await hanging();
    let answered = 0;
    const answers = Array.from({ length: 2 * WORKERS }, async () => {
      const { status } = await anyCall(served);
      answered += 1;
      return status;
    });
    // It is dealt one, and none after that.
    await until(() => answered === answers.length - 1, 'the others are answered');
    process.kill(victim, 'SIGKILL');
    expect(await Promise.all(answers)).toEqual(answers.map(() => 200));
  });

  it('is not waited for without end: calls of its sessions fail by name', { timeout: 60_000 }, async () => {
    const { served, victim, clients } = await hanging();
    const dealt = Promise.all(Array.from({ length: WORKERS }, () => anyCall(served)));
    const answers = await Promise.all(clients.map(({ headers }) => post(served, { headers, body: call(1, {}) })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 503]);
    const refused = answers.find(({ status }) => status === 503);
    expect(JSON.parse(refused?.body ?? '')).toMatchObject({ error: { data: { reason: 'owner_unavailable' } } });
    process.kill(victim, 'SIGKILL');
    expect((await dealt).map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});

describe('signals and settings are for all workers', verifies('gateway:workers:run'), () => {
  it('SIGTERM ends all of them in order', async () => {
    const backend = await legacyBackend(echo);
    const served = await started({ backends: { b: { url: backend.url } } });
    const workers = workersOf(served);
    served.program.kill('SIGTERM');
    expect(await served.program.end()).toEqual({ code: 0, signal: null });
    for (const pid of workers) expect(existsSync(`/proc/${pid}`)).toBe(false);
  });

  it('Ctrl-C, which every process gets, ends all of them in order', async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    const served = await started({ backends: { b: { url: backend.url } } });
    const client = await connectLegacy(served.url());
    const pending = client.post(call(1));
    const turn = await held.nth(1);
    for (const pid of [...workersOf(served), served.program.pid]) process.kill(pid, 'SIGINT');
    await until(() => served.program.stderr.includes('"stopping"'), 'it is stopping');
    turn.result(text('done'));
    expect((await pending).json()).toEqual(result(1, text('done')));
    expect(await served.program.end()).toEqual({ code: 0, signal: null });
  });

  it('metrics are those of all, in one text', async () => {
    const backend = await legacyBackend(echo);
    const { served, scrape } = await startedAll({ backends: { b: { url: backend.url } } });
    const request = modern({ method: 'tools/call', params: { name: 'work', arguments: {} } });
    for (let n = 0; n < 2 * WORKERS; n++) await send(served.url(), request);
    const scraped = await scrape();
    const counts = [...scraped.body.matchAll(/^mcp_server_operation_duration_seconds_count\{worker="(\d)".* (\d+)$/gm)];
    expect(new Set(counts.map(([, worker]) => worker)).size).toBe(WORKERS);
    expect(counts.reduce((total, [, , count]) => total + Number(count), 0)).toBe(2 * WORKERS);
    expect(scraped.body.match(/^# TYPE mcp_server_operation_duration_seconds /gm)).toHaveLength(1);
  });

  it.each([
    { workers: '0', config: {}, says: /`--workers` has a wrong value/ },
    { workers: 'many', config: {}, says: /a whole number from 1 to 64, or `auto`/ },
    { workers: '2', config: { console: {} }, says: /`--workers` does not go with `console` yet/ },
  ])('--workers $workers is refused by name', async ({ workers, config, says }) => {
    const backends = { b: { url: 'http://127.0.0.1:1/mcp' } };
    const program = await run(['serve', '--workers', workers, '--port', '0'], configFile({ backends, ...config }));
    expect(program.exit.code).toBe(1);
    expect(program.stderr).toMatch(says);
  });

  it('a port in use ends all of them with one reason', async () => {
    const backend = await legacyBackend(echo);
    const port = Number(new URL(backend.url).port);
    const program = await run(
      ['serve', '--workers', '2', '--port', String(port)],
      configFile({ backends: { b: { url: backend.url } } }),
    );
    expect(program.exit.code).toBe(1);
    expect(program.stderr).toContain(String(port));
  });
});
