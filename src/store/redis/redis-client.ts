/** Makes the clients of the Redis library. No other file loads it. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisSettings } from './settings.ts';

export type RedisClient = Redis | Cluster;

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

/** A socket with an overdue reply is closed a little later than the command fails, so that the failure says why. */
const SOCKET_GRACE_MS = 500;

const USUAL_PORT = 6379;

const RETRY_MIN_MS = 100;
const RETRY_MAX_MS = 5_000;

/** Doubles each time, with jitter: many gateways must not return at the same moment. */
export function retryDelay(attempt: number): number {
  const most = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(attempt - 1, 10));
  return most / 2 + (Math.random() * most) / 2;
}

/** After a failover the old primary may still answer; a new connection finds the new one. */
const READ_ONLY_RECONNECT_MS = 1_000;

function reconnectIfReadOnly(): (error: Error) => boolean {
  let last = 0;
  return ({ message }) => {
    if (!message.startsWith('READONLY') || Date.now() - last < READ_ONLY_RECONNECT_MS) return false;
    last = Date.now();
    return true;
  };
}

export function nodesOf({ url, cluster = [] }: RedisSettings): readonly RedisNode[] {
  return [url, ...cluster].map((text) => {
    const { hostname, port } = new URL(text);
    return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? USUAL_PORT : Number(port) };
  });
}

function optionsOf({ url, connectMs, commandMs }: RedisSettings) {
  const { protocol, username, password, pathname } = new URL(url);
  return {
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' && { tls: {} }),
    db: Number(pathname.slice(1)),
    connectionName: 'bascule',
    connectTimeout: connectMs,
    socketTimeout: commandMs + SOCKET_GRACE_MS,
    // A command fails at once while the connection is lost. Repeating one that may have been executed is wrong: the
    // second `take` of a record finds nothing.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  } satisfies RedisOptions;
}

export function createClient(settings: RedisSettings): RedisClient {
  const redisOptions = { ...optionsOf(settings), reconnectOnError: reconnectIfReadOnly() };
  const nodes = nodesOf(settings);
  if (settings.cluster === undefined)
    return new Redis({ ...nodes[0], ...redisOptions, enableOfflineQueue: false, retryStrategy: retryDelay });
  return new Cluster([...nodes], {
    redisOptions,
    enableOfflineQueue: false,
    clusterRetryStrategy: retryDelay,
    clusterNodeRetryStrategy: retryDelay,
    slotsRefreshTimeout: settings.commandMs,
    // Names stay names: certificates have them.
    dnsLookup: (address, found) => found(null, address),
  });
}

/** A connection for messages alone. It ends when it is lost. */
export function createSubscriber(settings: RedisSettings, node: RedisNode): Redis {
  return new Redis({
    ...node,
    ...optionsOf(settings),
    enableOfflineQueue: false,
    autoResubscribe: false,
    retryStrategy: null,
  });
}

/** The nodes that a message can be heard at: a cluster passes it on to all of them. */
export function hearingNodes(client: RedisClient, settings: RedisSettings): readonly RedisNode[] {
  if (client instanceof Redis) return nodesOf(settings);
  const known = client.nodes('master').map(({ options: { host = '', port = USUAL_PORT } }) => ({ host, port }));
  return known.length > 0 ? known : nodesOf(settings);
}
