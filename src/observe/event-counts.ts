/** Events at the edges that were handled: always counted, and logged if a person could do something about them. */
import { randomUUID } from 'node:crypto';
import { systemClock } from '../app/clock.ts';
import type { IngressNotes } from '../downstream/events.ts';
import { type Failure, isAboutRequest } from '../errors/failure.ts';
import type { BackendNotes } from '../upstream/channel.ts';
import { cureText } from './cause.ts';
import { CoalescedLog } from './coalesced.ts';
import type { Counters } from './counters.ts';
import type { Log } from './log.ts';
import { RefusalLog } from './refusals.ts';
import { sourceStack } from './source-stack.ts';

/** The first flood of a backend is logged for every reader; further ones at `debug`. */
const floodTexts = {
  paused: {
    level: 'info',
    first:
      'the backend sends more than limits.unsolicitedMessages allows: the gateway stops reading it until the period ends; ' +
      'further pauses are only counted (backend.flood.paused)',
    again: 'the gateway stopped reading the backend again: it sends too much',
  },
  ended: {
    level: 'warn',
    first:
      'the backend keeps sending more messages that belong to no call than limits.unsolicitedMessages: its process ' +
      'or stream was ended; further ends are only counted (backend.flood.ended)',
    again: 'the process or stream of the backend was ended again: it sends too much',
  },
} as const;

export function backendNotes(backend: string, log: Log, counters: Counters): BackendNotes {
  let noisy = false;
  let lostStreams = 0;
  let isFull = false;
  const toldFloods = new Set<string>();
  let hasRefused = false;
  return {
    // Each session has its own stream. Only the first loss is logged, and when all streams are back.
    streamLost: (why) => {
      counters.count('backend.stream_lost');
      lostStreams += 1;
      if (lostStreams === 1)
        log.warn(
          { backend, why },
          "the backend's event stream is lost: no notifications arrive until it is back; the gateway keeps reconnecting",
        );
      return (how) => {
        lostStreams -= 1;
        if (how === 'back' && lostStreams === 0) log.info({ backend }, "the backend's event stream is back");
      };
    },
    overLimit: ({ message, cure }) => {
      counters.count('backend.sandbox.ended');
      log.warn({ backend, cure }, message);
    },
    noise: (kind, text) => {
      counters.count(`backend.noise.${kind}`);
      // Servers may write anything to stderr (stdio transport), so it is logged at `debug`. A failure includes the last
      // lines.
      if (kind === 'stderr') log.debug({ backend }, text);
      else if (kind !== 'stdout' || noisy) log.debug({ backend, kind, text }, 'unexpected output of a backend');
      else {
        noisy = true;
        log.warn(
          { backend, kind, text },
          'the backend writes lines to stdout that are not JSON-RPC messages: they are skipped; further ones are logged at debug',
        );
      }
    },
    flood: (stage, where) => {
      counters.count(`backend.flood.${stage}`);
      const facts = { backend, where, reason: 'backend_flooding' };
      const { level, first, again } = floodTexts[stage];
      if (toldFloods.has(stage)) log.debug(facts, again);
      else log[level](facts, first);
      toldFloods.add(stage);
    },
    streamsFull: (most) => {
      counters.count('backend.streams_full');
      if (isFull) return;
      isFull = true;
      log.warn(
        { backend, limit: 'streamsPerBackend', most },
        'limits.streamsPerBackend streams to the backend are open: further sessions get list changes through the ' +
          'other streams, and no other notifications outside their calls; further ones are only counted (backend.streams_full)',
      );
    },
    // Others are refused for the same reason. What only the affected person can fix is reported to that person.
    refused: (failure) => {
      const cure = cureText(failure);
      if (cure === undefined || hasRefused) return;
      hasRefused = true;
      const { reason, message } = failure;
      log.warn({ backend, reason, cure }, `users cannot connect their accounts to the backend: ${message}`);
    },
    odd: (kind, text, cause) => {
      counters.count(`backend.odd.${kind}`);
      if (kind === 'fault') log.error({ backend, cause: sourceStack(cause) }, text);
      else if (kind === 'slow') log.warn({ backend }, text);
      else log.debug({ backend, kind }, text);
    },
  };
}

/** How many refused hosts are logged. More are probably a scan, and are only counted. */
const HOSTS_LOGGED = 32;
/** The longest DNS name is twice as long; a prefix is enough to recognise it. */
const HOST_CHARS = 128;

/** Logs each refused `Host` once, up to the limit. */
function refusedHosts(log: Log): (host: string) => void {
  const known = new Set<string>();
  return (host) => {
    const shown = host.slice(0, HOST_CHARS);
    if (known.size > HOSTS_LOGGED || known.has(shown)) return;
    if (known.size === HOSTS_LOGGED)
      log.warn({}, 'more hosts were refused (listen.allowedHosts); they are only counted');
    else
      log.warn(
        { host: shown },
        'a request was refused because of its Host header: if the host is yours, add it to listen.allowedHosts',
      );
    known.add(shown);
  };
}

/** These have a line of their own, with what they are about. */
const loggedApart: ReadonlySet<string> = new Set(['origin_not_allowed', 'host_not_allowed', 'too_many_connections']);

/** `failed`: is told of every response that reports a failure. */
export function ingressNotes(
  log: Log,
  counters: Counters,
  failed: (failure: Failure) => void = () => undefined,
): IngressNotes {
  const refusals = new RefusalLog(new CoalescedLog({ log, after: (ms, action) => systemClock.after(ms, action) }));
  const logHost = refusedHosts(log);
  let isFull = false;
  return {
    dropped: (urgency) => counters.count(`ingress.dropped.${urgency}`),
    cutOff: () => {
      counters.count('ingress.cut_off');
      log.warn({}, 'a client was disconnected because it did not read its responses');
    },
    hostRefused: (host) => {
      counters.count('ingress.refused.host_not_allowed');
      logHost(host);
    },
    originRefused: (origin, failure, address) => {
      counters.count('ingress.refused.origin_not_allowed');
      refusals.tell({ failure, origin, address });
    },
    failed: (failure, from) => {
      failed(failure);
      // Credentials, rules and names are logged by those who decide about them.
      if (isAboutRequest(failure) && !loggedApart.has(failure.reason)) refusals.tell({ failure, ...from() });
    },
    connectionRefused: () => {
      counters.count('ingress.refused.too_many_connections');
      if (isFull) return;
      isFull = true;
      log.warn({}, 'connections are refused: limits.connectionsTotal or limits.connectionsPerAddress is reached');
    },
    fault: (error) => {
      const logId = randomUUID();
      log.error({ logId, cause: sourceStack(error) }, 'unexpected failure');
      return logId;
    },
  };
}
