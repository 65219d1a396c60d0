/** Builds the gateway that a config describes. Together with main.ts, the only place that makes I/O and wires it up. */
import { randomBytes } from 'node:crypto';
import { about } from './about.ts';
import { createBackend } from './backend/create.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config/config.ts';
import { Parking } from './exchange/bridge/parking.ts';
import type { Clock } from './exchange/clock.ts';
import type { Backend, BackendState } from './exchange/lane.ts';
import { Lanes } from './exchange/lanes.ts';
import { Sessions } from './exchange/sessions.ts';
import { ToolHeaders } from './exchange/tool-headers.ts';
import { Work } from './gateway/work.ts';
import { Spine } from './gateway.ts';
import type { Counters } from './observe/counters.ts';
import { createFault } from './observe/fault.ts';
import type { Log } from './observe/log.ts';
import { backendNotes } from './observe/notes.ts';
import { MemoryBus, MemoryEventLog, MemoryLease } from './store/memory.ts';
import type { EventLog } from './store/ports.ts';
import { createSeal } from './store/seal.ts';

export interface Assembled {
  readonly gateway: Spine;
  readonly backends: ReadonlyMap<string, Backend>;
  /** Lets work finish for so long, then ends everything, processes included. */
  close(drainMs: number): Promise<void>;
}

export interface AssembleOptions {
  readonly log: Log;
  readonly counters: Counters;
  onBackendState?(name: string, state: BackendState): void;
  /** The machine's own unless another is handed in. */
  readonly clock?: Clock;
  /** In this process's memory unless another is handed in. */
  readonly events?: EventLog;
}

/** 192 bits, in characters that may stand in a header. */
const newId = () => randomBytes(24).toString('base64url');

export function assemble(config: Config, options: AssembleOptions): Assembled {
  const { limits } = config;
  const { log, counters, clock = systemClock, events = new MemoryEventLog(limits) } = options;
  const backends = new Map(
    config.backends.map((backend) => [
      backend.name,
      createBackend(backend, {
        limits,
        clock,
        version: about.version,
        notes: backendNotes(backend.name, log, counters),
        onState: (state) => options.onBackendState?.(backend.name, state),
      }),
    ]),
  );
  const gateway = new Spine({
    limits,
    backends,
    lanes: new Lanes(backends, limits, clock),
    sessions: new Sessions(limits, clock, new MemoryBus()),
    parking: new Parking(limits, {
      clock,
      seal: createSeal(config.seal.key),
      lease: new MemoryLease(() => clock.now()),
      newId,
    }),
    toolHeaders: new ToolHeaders(clock),
    events,
    work: new Work(),
    clock,
    newId,
    fault: createFault(log, newId),
    warn: (text, facts) => log.warn(facts, text),
    count: (name) => counters.count(name),
  });
  return {
    gateway,
    backends,
    close: async (drainMs) => {
      await gateway.drain(drainMs);
      await Promise.all([...backends.values()].map((backend) => backend.close()));
    },
  };
}
