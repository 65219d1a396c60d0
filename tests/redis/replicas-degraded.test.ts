/** Replicas whose Redis, network, clocks or configs are in trouble. The rows of the table in docs/scaling.md. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { call, echo, result, text } from '../interaction/harness/behind.ts';
import { send } from '../interaction/harness/client.ts';
import { connectLegacy, LegacyClient, modern } from '../interaction/harness/eras.ts';
import { legacyBackend, modernBackend } from '../interaction/harness/http-backend.ts';
import { freePort } from '../interaction/harness/ports.ts';
import { verifies } from '../requirements/verifies.ts';
import { startProxy } from './proxy.ts';
import { KEY, LEASE_MS, REPLICAS, startReplicas } from './replicas.ts';
import { eventually, startRedis } from './server.ts';

const IDLE_MS = 3_000;
/** How often a gateway looks for idle sessions. */
const SWEEP_MS = 5_000;

async function expectServed(client: LegacyClient, times = 2 * REPLICAS): Promise<void> {
  for (let n = 0; n < times; n++) {
    const answer = await client.post(call(n, { n }));
    expect(answer.json(), answer.body).toEqual(result(n, text(JSON.stringify({ n }))));
  }
}

/** The same session, whose requests arrive at another replica. */
const at = (client: LegacyClient, origin = ''): LegacyClient =>
  new LegacyClient(`${origin}/mcp`, client.session, client.revision, client.initialized);

const started = async () => (await withBackend())[0];

async function withBackend() {
  const [legacy, current] = [await legacyBackend(echo), await modernBackend(echo)];
  const config = {
    backends: { legacy: { url: legacy.url }, modern: { url: current.url } },
    endpoints: [
      { path: '/mcp', backends: ['legacy'] },
      { path: '/modern', backends: ['modern'] },
    ],
  };
  return [config, legacy] as const;
}

const modernCall = () => modern({ method: 'tools/call', params: { name: 'echo', arguments: { a: 1 } } });

describe('replicas', verifies('gateway:replicas:degraded'), () => {
  it('go on with modern calls and with all sessions while Redis is away, and heal', async () => {
    const { url, origin, redis } = await startReplicas(await started());
    const client = await connectLegacy(url);
    await expectServed(client);
    await redis.kill();
    await expectServed(client);
    for (let n = 0; n < REPLICAS; n++) expect((await send(`${origin}/modern`, modernCall())).status).toBe(200);
    const opened = await connectLegacy(url);
    await expectServed(opened);
    await redis.start();
    await expectServed(client);
    await expectServed(opened);
  });

  it('go on after Redis was restarted without its data', async () => {
    const [config, backend] = await withBackend();
    const { url, redis, all, add } = await startReplicas(config);
    const clients = await Promise.all(Array.from({ length: REPLICAS }, () => connectLegacy(url)));
    // One session at least is taken over: its record is lost with the data.
    all[0]?.program.kill('SIGKILL');
    await all[0]?.program.exited;
    for (const client of clients) await expectServed(client, 2);
    const records = async () => (await redis.cli('keys', '*owner*record*')).split('\n').filter(Boolean).length;
    const taken = await records();
    await redis.kill();
    await redis.start({ empty: true });
    for (const client of clients) await expectServed(client);
    // Those that were taken over stay where they are, for a replica that never heard of them as well.
    await eventually('they are recorded again', async () => (await records()) >= taken);
    const { origin } = await add();
    await expectServed(await connectLegacy(`${origin}/mcp`), 1);
    const opened = backend.of('initialize').length;
    for (const client of clients) await expectServed(at(client, origin), 1);
    expect(backend.of('initialize')).toHaveLength(opened);
  });

  it('that are cut off from each other, but not from Redis, refuse by name what arrives elsewhere', async () => {
    const door = await freePort();
    const proxy = await startProxy(door);
    const advertise = `127.0.0.1:${new URL(proxy.url).port}`;
    const each = (number: number) => (number === 0 ? { replicas: { listen: `127.0.0.1:${door}`, advertise } } : {});
    const { all } = await startReplicas(await started(), { count: 2, each });
    const [owner, other] = all;
    const client = await connectLegacy(`${owner?.origin}/mcp`);
    const elsewhere = at(client, other?.origin);
    await expectServed(elsewhere, 1);
    proxy.leadTo(await freePort(), { cuts: true });
    const refused = await elsewhere.post(call(1));
    expect(refused.status, refused.body).toBe(503);
    expect(refused.json().error.data.reason).toBe('owner_unavailable');
    await expectServed(client);
    proxy.leadTo(door, { cuts: false });
    await expectServed(elsewhere);
  });

  it.each([
    { ahead: 50_000, outcome: 'serve all sessions', statuses: [200, 200] },
    { ahead: -50_000, outcome: 'serve all sessions', statuses: [200, 200] },
    { ahead: 300_000, outcome: 'refuse by name what arrives at the one that is behind', statuses: [200, 503] },
  ])('whose clocks are $ahead ms apart $outcome', async ({ ahead, statuses }) => {
    const clock = `data:text/javascript,const real = Date.now; Date.now = () => real() + ${ahead};`;
    const program = (number: number) => (number === 0 ? { flags: ['--import', clock] } : {});
    const { all } = await startReplicas(await started(), { count: 2, program });
    const [shifted, right] = all;
    const crossed = [
      at(await connectLegacy(`${right?.origin}/mcp`), shifted?.origin),
      at(await connectLegacy(`${shifted?.origin}/mcp`), right?.origin),
    ];
    const answers = await Promise.all(crossed.map((client) => client.post(call(1, {}))));
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    for (const answer of answers)
      if (answer.status !== 200) expect(answer.json().error.data.reason).toBe('owner_unavailable');
  });

  it('that are cut off from Redis keep their sessions, which others reach, and lose none when they are back', async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const proxy = await startProxy(redis.port);
    const each = (number: number) => (number === 0 ? { store: { url: proxy.url } } : {});
    const { all, url } = await startReplicas(await started(), { redis, each });
    const [cut] = all;
    const client = await connectLegacy(`${cut?.origin}/mcp`);
    proxy.stall();
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
    await expectServed(client, 2);
    const balanced = Object.assign(Object.create(Object.getPrototypeOf(client)), client, { url });
    await expectServed(balanced);
    proxy.resume();
    await expectServed(balanced);
  });

  it('that hang are refused by name, and their sessions go on elsewhere after a lease', async () => {
    const { all, balancer } = await startReplicas(await started());
    const [hanging, other] = all;
    const client = await connectLegacy(`${hanging?.origin}/mcp`);
    const elsewhere = Object.assign(Object.create(Object.getPrototypeOf(client)), client, {
      url: `${other?.origin}/mcp`,
    });
    await expectServed(elsewhere, 1);
    hanging?.program.kill('SIGSTOP');
    onTestFinished(() => hanging?.program.kill('SIGCONT'));
    await eventually('another replica has the session', async () => {
      const answer = await elsewhere.post(call(1, { n: 1 }));
      if (answer.status !== 200) expect(answer.json().error.data.reason).toBe('owner_unavailable');
      return answer.status === 200;
    });
    hanging?.program.kill('SIGCONT');
    // The one that hung learns that it has lost the session.
    await eventually('both say the same', async () => (await client.post(call(2, { n: 2 }))).status === 200);
    await expectServed(elsewhere);
    expect(balancer.log).toEqual([]);
  });

  it('that hang for longer than a session may be idle do not end it where it goes on', async () => {
    const config = { ...(await started()), limits: { sessionIdleMs: IDLE_MS } };
    const { all } = await startReplicas(config, { count: 2 });
    const [hanging, other] = all;
    const client = await connectLegacy(`${hanging?.origin}/mcp`);
    const elsewhere = Object.assign(Object.create(Object.getPrototypeOf(client)), client, {
      url: `${other?.origin}/mcp`,
    });
    hanging?.program.kill('SIGSTOP');
    onTestFinished(() => hanging?.program.kill('SIGCONT'));
    const isServed = async () => (await elsewhere.post(call(1, { n: 1 }))).status === 200;
    await eventually('another replica has the session', isServed);
    // Until the one that hangs is late with its look at idle sessions.
    for (const until = Date.now() + SWEEP_MS; Date.now() < until; ) expect(await isServed()).toBe(true);
    hanging?.program.kill('SIGCONT');
    for (const until = Date.now() + IDLE_MS; Date.now() < until; ) expect(await isServed()).toBe(true);
  });

  it('of another key get no request of the others', async () => {
    const config = await started();
    const redis = await startRedis();
    onTestFinished(() => redis.close());
    const each = (number: number) => (number === 0 ? { seal: { key: `${KEY} but another one` } } : {});
    const { all } = await startReplicas(config, { redis, each });
    const client = await connectLegacy(`${all[1]?.origin}/mcp`);
    const stranger = Object.assign(Object.create(Object.getPrototypeOf(client)), client, {
      url: `${all[0]?.origin}/mcp`,
    });
    expect((await stranger.post(call(1))).status).toBe(404);
  });

  it('with another config say so in the log', async () => {
    const config = await started();
    const each = (number: number) => (number === 0 ? { limits: { replicaLeaseMs: LEASE_MS, jsonDepth: 20 } } : {});
    const { all } = await startReplicas(config, { each });
    await eventually('the log has it', () => all.some(({ program }) => program.stderr.includes('another config')));
  });
});
