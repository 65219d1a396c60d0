/** What goes wrong with replicas, with their Redis, and between them. */
import type { Chance } from '../interaction/faults/chance.ts';
import { type Fault, pause, some } from './faults.ts';
import type { Gateway } from './gateway.ts';
import type { Mood } from './relay.ts';
import type { ReplicaGroup } from './replica-group.ts';

type Play = (group: ReplicaGroup, chance: Chance) => Promise<void>;

const fault = (name: string, play: Play): Fault => ({
  name,
  play: async ({ group }, chance) => {
    if (group === undefined) return;
    const touchesStore = name.includes('Redis');
    if (touchesStore) group.storeTroubledAt = Date.now();
    await play(group, chance);
    if (touchesStore) group.storeTroubledAt = Date.now();
  },
});
/** Shorter than a lease, or longer. */
const around = (chance: Chance) => some(chance, chance.pick([600, 6000]));
const broken: readonly Mood[] = ['refuse', 'half-open', 'reset'];

/** Breaks the links while it waits, and mends them. */
async function without(links: readonly { become(mood: Mood): void }[], mood: Mood, ms: number): Promise<void> {
  for (const link of links) link.become(mood);
  await pause(ms);
  for (const link of links) link.become('pass');
}

async function restart(group: ReplicaGroup, old: Gateway): Promise<void> {
  await group.add();
  await group.end(old, 'SIGTERM');
}

/** The ways between a replica and all others. */
function waysOf(group: ReplicaGroup, one: Gateway) {
  const others = group.gateways.filter((gateway) => gateway !== one);
  return others.flatMap((other) => [group.link(one, other), group.link(other, one)]);
}

export const replicaFaults: readonly Fault[] = [
  fault('a replica is killed and started again', async (group, chance) => {
    await group.end(chance.pick(group.gateways), 'SIGKILL');
    await pause(around(chance));
    await group.add();
  }),
  fault('two replicas are killed at once', async (group, chance) => {
    const [first, second] = [...group.gateways].sort(() => chance.below(3) - 1);
    await Promise.all([first, second].map((one) => one && group.end(one, 'SIGKILL')));
    await Promise.all([group.add(), group.add()]);
  }),
  fault('a replica hangs and goes on', async (group, chance) => {
    const { process } = chance.pick(group.gateways);
    group.troubledAt = Date.now();
    process.kill('SIGSTOP');
    await pause(around(chance));
    group.troubledAt = Date.now();
    process.kill('SIGCONT');
  }),
  fault('all replicas are restarted one after the other', async (group) => {
    for (const old of [...group.gateways]) await restart(group, old);
  }),
  fault('a replica leaves and is killed meanwhile', async (group, chance) => {
    const leaving = chance.pick(group.gateways);
    leaving.process.kill('SIGTERM');
    await pause(chance.below(1500));
    await group.end(leaving, 'SIGKILL');
    await group.add();
  }),
  fault('Redis is killed and started again', async ({ redis }, chance) => {
    await redis.kill();
    await pause(around(chance));
    await redis.start();
  }),
  fault('Redis is killed and started without its data', async (group, chance) => {
    await group.redis.kill();
    await pause(around(chance));
    await group.redis.start({ empty: true });
    group.dataLostAt = Date.now();
    await pause(1_000);
  }),
  fault('Redis does not answer', async ({ redis }, chance) => {
    const ms = around(chance);
    await redis.cli('client', 'pause', String(ms), 'ALL');
    await pause(ms);
  }),
  fault('a replica is killed while Redis is away', async (group, chance) => {
    await group.redis.kill();
    await pause(some(chance, 500));
    await group.end(chance.pick(group.gateways), 'SIGKILL');
    await pause(around(chance));
    await group.redis.start();
    await group.add();
  }),
  fault('a replica is cut off from Redis', async (group, chance) => {
    const one = chance.pick(group.gateways);
    await without([group.link(one)], chance.pick(broken), around(chance));
  }),
  fault('one way between two replicas is cut', async (group, chance) => {
    const [from, to] = [...group.gateways].sort(() => chance.below(3) - 1);
    if (from !== undefined && to !== undefined)
      await without([group.link(from, to)], chance.pick(broken), around(chance));
  }),
  fault('a replica is cut off from all others', async (group, chance) => {
    await without(waysOf(group, chance.pick(group.gateways)), chance.pick(broken), around(chance));
  }),
  fault('a replica is cut off from all others and from Redis', async (group, chance) => {
    const one = chance.pick(group.gateways);
    await without([...waysOf(group, one), group.link(one)], chance.pick(broken), around(chance));
  }),
  fault('all connections between replicas are cut', async (group) => {
    await without(
      group.gateways.flatMap((one) => waysOf(group, one)),
      'pass',
      200,
    );
  }),
];
