/** Three replicas behind a balancer: any of them serves any request. */
import { describe, expect, it } from 'vitest';
import {
  expectAnsweredAnywhere,
  expectCancelledAnywhere,
  expectHeardAnywhere,
  expectRetriedAnywhere,
} from '../interaction/harness/anywhere.ts';
import { call, echo, Held, result, text } from '../interaction/harness/behind.ts';
import { send } from '../interaction/harness/client.ts';
import { connectLegacy, modern } from '../interaction/harness/eras.ts';
import { legacyBackend, modernBackend } from '../interaction/harness/http-backend.ts';
import { freePort } from '../interaction/harness/ports.ts';
import type { Served } from '../interaction/harness/program.ts';
import { AskingBackend } from '../interaction/harness/server-requests.ts';
import { legacyProcess } from '../interaction/harness/stdio-backend.ts';
import { allReady } from '../interaction/workers/started.ts';
import { verifies } from '../requirements/verifies.ts';
import { REPLICAS, startReplicas } from './replicas.ts';

describe('a legacy session is served by all replicas', verifies('gateway:replicas:sessions'), () => {
  it('with one process of a stdio backend', async () => {
    const backend = await legacyProcess({
      'tools/call': (turn) => turn.result(text(`${turn.process.pid} ${JSON.stringify(turn.message.params.arguments)}`)),
    });
    const { url, balancer } = await startReplicas({
      backends: { b: { command: backend.command, args: backend.args } },
    });
    const client = await connectLegacy(url);
    const said: string[] = [];
    for (let n = 0; n < 3 * REPLICAS; n++) said.push((await client.post(call(n, { n }))).json().result.content[0].text);
    const [pid = ''] = (said[0] ?? '').split(' ');
    expect(said).toEqual(said.map((_, n) => `${pid} {"n":${n}}`));
    expect(balancer.shareElsewhere(client.session)).toBeGreaterThan(0.5);
  });

  it('with its stream, cancellation and DELETE', async () => {
    const held = new Held();
    const backend = await legacyBackend({ 'tools/call': held.take });
    const { url } = await startReplicas({ backends: { b: { url: backend.url } } });
    await expectCancelledAnywhere(url, backend, held);
  });

  it.each(['http', 'stdio'] as const)('with server requests of a %s backend', async (transport) => {
    const backend = await AskingBackend.start(transport);
    const { url } = await startReplicas({ backends: { b: backend.config } });
    await expectAnsweredAnywhere(url);
  });
});

it('a modern client retries a pending call at any replica', verifies('gateway:replicas:pending'), async () => {
  const backend = await AskingBackend.start('http');
  const { url } = await startReplicas({ backends: { b: backend.config } });
  await expectRetriedAnywhere(url);
});

it('a client of HTTP+SSE sends its messages to any replica', verifies('gateway:replicas:sessions'), async () => {
  const backend = await legacyBackend(echo);
  const { origin } = await startReplicas({ backends: { b: { url: backend.url } } });
  await expectHeardAnywhere(`${origin}/sse`);
});

describe('a replica that is killed', verifies('gateway:replicas:killed'), () => {
  it('leaves its sessions with HTTP backends to the others', async () => {
    const backend = await legacyBackend(echo);
    const { url, all, balancer } = await startReplicas({ backends: { b: { url: backend.url } } });
    const clients = await Promise.all(Array.from({ length: 2 * REPLICAS }, () => connectLegacy(url)));
    all[0]?.program.kill('SIGKILL');
    await all[0]?.program.exited;
    for (let n = 0; n < 2; n++)
      for (const client of clients)
        expect((await client.post(call(n, { n }))).json()).toEqual(result(n, text(JSON.stringify({ n }))));
    expect(balancer.log.length).toBeGreaterThan(0);
  });

  it('and started again at the same address does not stand in the way of its old sessions', async () => {
    const backend = await legacyBackend(echo);
    const ports = [await freePort(), await freePort()];
    // The third takes the address of the first.
    const each = (number: number) => ({ replicas: { listen: `127.0.0.1:${ports[number % 2]}` } });
    const replicas = await startReplicas({ backends: { b: { url: backend.url } } }, { count: 2, each });
    const [killed, other] = replicas.all;
    const client = await connectLegacy(`${killed?.origin}/mcp`);
    killed?.program.kill('SIGKILL');
    await killed?.program.exited;
    const again = await replicas.add();
    for (const { origin } of [other, again].filter((one) => one !== undefined)) {
      const moved = Object.assign(Object.create(Object.getPrototypeOf(client)), client, { url: `${origin}/mcp` });
      expect((await moved.post(call(1, { n: 1 }))).json()).toEqual(result(1, text('{"n":1}')));
    }
  });

  it('takes its stateful stdio sessions with it: 404, within the time of a lease', async () => {
    const backend = await legacyProcess({ 'tools/call': (turn) => turn.result(text('done')) });
    const { url, all } = await startReplicas({ backends: { b: { command: backend.command, args: backend.args } } });
    const clients = await Promise.all(Array.from({ length: REPLICAS }, () => connectLegacy(url)));
    all[0]?.program.kill('SIGKILL');
    await all[0]?.program.exited;
    const statuses = await Promise.all(clients.map(async (client) => (await client.post(call(1))).status));
    expect(statuses.sort()).toEqual([200, 200, 404]);
  });
});

/** What they have logged, for the message of a failing test. */
function everything(started: readonly Served[]): string {
  return started.map(({ program }) => program.stderr).join('\n');
}

describe('replicas that are restarted one after the other under load', verifies('gateway:replicas:rolling'), () => {
  it('fail no modern call, and no call of a legacy session with HTTP backends', async () => {
    const [legacy, current] = [await legacyBackend(echo), await modernBackend(echo)];
    const replicas = await startReplicas({ backends: { legacy: { url: legacy.url }, modern: { url: current.url } } });
    const { origin, all } = replicas;
    const clients = await Promise.all(Array.from({ length: 4 }, () => connectLegacy(`${origin}/servers/legacy/mcp`)));
    let isOver = false;
    let calls = 0;
    const failed: string[] = [];
    const load = async (one: (n: number) => Promise<{ status: number; body: string }>) => {
      for (let n = 1; !isOver; n++) {
        const { status, body } = await one(n);
        calls += 1;
        if (status !== 200 || !body.includes(`\\"n\\":${n}`)) failed.push(`${status} ${body}`);
      }
    };
    const modernCall = (n: number) =>
      send(
        `${origin}/servers/modern/mcp`,
        modern({ method: 'tools/call', params: { name: 'echo', arguments: { n } } }),
      );
    const running = [
      ...clients.map((client) => load((n) => client.post(call(n, { n })))),
      ...clients.map((client) => load((n) => client.post(call(`other-${n}`, { n })))),
      load(modernCall),
      load(modernCall),
    ];
    for (const old of all.slice(0, REPLICAS)) {
      await replicas.add();
      old.program.kill('SIGTERM');
      await old.program.exited;
      all.splice(all.indexOf(old), 1);
    }
    isOver = true;
    await Promise.all(running);
    expect(failed, everything(replicas.started)).toEqual([]);
    expect(calls).toBeGreaterThan(100);
  });
});

it('workers of two machines are replicas of each other', verifies('gateway:replicas:sessions'), async () => {
  const backend = await legacyBackend(echo);
  const ports = [await freePort(), await freePort()];
  const { url, balancer, all } = await startReplicas(
    { backends: { b: { url: backend.url } } },
    { count: 2, args: ['--workers', '2'], each: (number) => ({ replicas: { listen: `127.0.0.1:${ports[number]}` } }) },
  );
  // A worker that listens and is not ready yet answers 503.
  await Promise.all(all.map(allReady));
  const clients = await Promise.all(Array.from({ length: 4 }, () => connectLegacy(url)));
  for (const client of clients)
    for (let n = 0; n < 8; n++)
      expect((await client.post(call(n, { n }))).json()).toEqual(result(n, text(JSON.stringify({ n }))));
  expect(balancer.log.length).toBeGreaterThan(32);
});
