/**
 * `npm run bench:sizing -- [sessions]`: what three replicas and their Redis need for a session, a call and an event.
 * Prints the table of docs/scaling.md. Needs `redis-server`.
 *
 * Redis counts for itself: commands that it ran, those inside of scripts included, and bytes that came and went. What
 * idle replicas cause in the same time is taken off. No figure depends on how fast the machine is.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { startRedis, type TestRedis } from '../tests/redis/server.ts';
import { buildPrograms } from './build.ts';
import { limitsFor, serve } from './contestants/bascule.ts';
import { backendPaths, startWarmBackend } from './contestants/direct.ts';
import { Connection, type IdleStream, openIdleStream } from './load/connection.ts';
import { deleteRequest, legacyRequest, modernRequest, streamRequest } from './load/requests.ts';
import { openSession } from './load/session.ts';
import { digits, grouped, table } from './markdown.ts';
import { runProgram, say } from './program.ts';
import { toolNames } from './programs/payloads.ts';
import { memoryOf, settle } from './system.ts';

const REPLICAS = 3;
const SESSIONS = 1_000;
const CALLS = 1_000;
const IDLE_SECONDS = 10;
const call = { method: 'tools/call', name: toolNames.echo, arguments: { text: 'one of many' } };

interface Used {
  readonly commands: number;
  readonly bytes: number;
  readonly at: number;
}

async function usedOf(redis: TestRedis): Promise<Used> {
  const stats = await redis.cli('info', 'stats');
  const counted = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  return {
    commands: counted('total_commands_processed'),
    bytes: counted('total_net_input_bytes') + counted('total_net_output_bytes'),
    at: performance.now(),
  };
}

/** Three replicas with one backend, and what they use while they are idle. */
class Group {
  readonly rows: string[][] = [];
  readonly urls: readonly URL[];
  readonly #pids: readonly number[];
  readonly #redis: TestRedis;
  readonly #stops: readonly (() => Promise<void>)[];
  /** In a millisecond. */
  #idle = { commands: 0, bytes: 0 };

  private constructor(
    redis: TestRedis,
    parts: Pick<Group, 'urls'> & { pids: number[]; stops: (() => Promise<void>)[] },
  ) {
    this.#redis = redis;
    this.urls = parts.urls;
    this.#pids = parts.pids;
    this.#stops = parts.stops;
  }

  static async start(sessions: number, limits: object = {}): Promise<Group> {
    const redis = await startRedis();
    const backend = await startWarmBackend();
    const config = {
      backends: { modern: { url: new URL(backendPaths.modern, backend.said).href } },
      seal: { key: 'a key that all replicas of the bench have' },
      store: { url: redis.url },
      replicas: { listen: '127.0.0.1:0' },
      limits: { ...limitsFor(2 * sessions), ...limits },
    };
    const gateways = [];
    for (let n = 0; n < REPLICAS; n++) gateways.push(await serve(config, 'bascule.yaml', ['--expose-gc']));
    const group = new Group(redis, {
      urls: gateways.map((gateway) => gateway.place('modern').url),
      pids: gateways.map(({ pid }) => pid),
      stops: [...gateways.map(({ stop }) => stop), backend.stop, () => redis.close()],
    });
    await sleep(2_000);
    const before = await usedOf(redis);
    await sleep(IDLE_SECONDS * 1_000);
    const after = await usedOf(redis);
    const passed = after.at - before.at;
    group.#idle = {
      commands: (after.commands - before.commands) / passed,
      bytes: (after.bytes - before.bytes) / passed,
    };
    return group;
  }

  at(n: number): URL {
    return this.urls[n % REPLICAS] as URL;
  }

  /** In one second. */
  get idle(): readonly string[] {
    const ofOne = 1_000 / REPLICAS;
    return ['an idle replica, in a second', digits(this.#idle.commands * ofOne, 1), grouped(this.#idle.bytes * ofOne)];
  }

  async measure(what: string, times: number, work: (n: number) => Promise<void>): Promise<void> {
    const before = await usedOf(this.#redis);
    for (let n = 0; n < times; n++) await work(n);
    // What is stored of sessions is stored a moment later.
    await sleep(500);
    const after = await usedOf(this.#redis);
    const passed = after.at - before.at;
    const each = (now: number, then: number, idle: number) => Math.max(0, now - then - idle * passed) / times;
    const commands = digits(each(after.commands, before.commands, this.#idle.commands), 1);
    this.rows.push([what, commands, grouped(each(after.bytes, before.bytes, this.#idle.bytes))]);
    say(what);
  }

  async stop(): Promise<void> {
    for (const stop of this.#stops) await stop();
  }

  /** Of all replicas, in kilobytes. */
  async memory(): Promise<number> {
    let total = 0;
    for (const pid of this.#pids) {
      await settle(pid);
      total += memoryOf(pid).anonymous;
    }
    return total;
  }
}

/** What a client does with a session, from its opening to its end. */
async function measureSessions(group: Group, count: number): Promise<void> {
  const connections = await Promise.all(group.urls.map((url) => Connection.open(url)));
  const ask = async (n: number, bytes: Buffer, status: number) => {
    const answer = await (connections[n % REPLICAS] as Connection).ask(bytes);
    if (answer.status !== status) throw new Error(`answered with ${answer.status}: ${answer.head}`);
  };
  const sessions: string[] = [];
  const open = async (n: number) => {
    sessions.push(await openSession(group.at(n), connections[n % REPLICAS] as Connection));
  };
  for (let n = 0; n < 5 * REPLICAS; n++) await open(n);
  const before = await group.memory();
  await group.measure('opening a session', count, open);
  const streams: IdleStream[] = [];
  const listen = async (n: number) => {
    streams.push(await openIdleStream(group.at(n + 1), streamRequest(group.at(n + 1), sessions[n] as string)));
  };
  await group.measure('its stream, at another replica than the session', count, listen);
  const kept = ((await group.memory()) - before) / count;
  say(`${digits(kept, 0)} KB of memory for a session and its stream, over all replicas`);
  const called = (offset: number) => (n: number) =>
    ask(n + offset, legacyRequest(group.at(n + offset), sessions[n % sessions.length], n, call), 200);
  await group.measure('a call where its session is', CALLS, called(0));
  await group.measure('a call that another replica hands over', CALLS, called(1));
  await group.measure('a modern call', CALLS, (n) => ask(n, modernRequest(group.at(n), n, call), 200));
  for (const stream of streams) stream.close();
  await group.measure('ending a session', count, (n) => ask(n, deleteRequest(group.at(n), sessions[n] as string), 204));
  for (const connection of connections) connection.close();
}

async function measureEvents(group: Group): Promise<void> {
  const connection = await Connection.open(group.at(0));
  const session = await openSession(group.at(0), connection);
  await group.measure('a call that is answered with a stream of two events', CALLS, async (n) => {
    const { status, head } = await connection.ask(legacyRequest(group.at(0), session, n, call));
    if (status !== 200 || !head.includes('text/event-stream')) throw new Error(`no stream came: ${head}`);
  });
  connection.close();
}

async function main(): Promise<number> {
  const count = Number(process.argv[2] ?? SESSIONS);
  await buildPrograms();
  const plain = await Group.start(count);
  await measureSessions(plain, count);
  await plain.stop();
  const streaming = await Group.start(1, { sseAfterMs: 0 });
  await measureEvents(streaming);
  await streaming.stop();
  const head = ['', 'commands in Redis', 'bytes to and from Redis'];
  console.log(table(head, [...plain.rows, ...streaming.rows, plain.idle.slice()]));
  return 0;
}

runProgram(main);
