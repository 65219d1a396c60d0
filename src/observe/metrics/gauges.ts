/** What is read at the moment of a scrape: states and sizes of the gateway, and what `Counters` has counted. */
import type { ListCost } from '../../budget/plan.ts';
import type { Backend, BackendState } from '../../exchange/upstream-session.ts';
import type { PinGuard } from '../../pins/ports.ts';
import type { Session } from '../../session/session.ts';
import { about } from '../../wire/about.ts';
import type { Counters } from '../counters.ts';
import { type MetricName, metricFamilies } from './families.ts';
import { Series } from './series.ts';

/** The gateway as it is at the moment. */
export interface MetricSources {
  readonly counters: Counters;
  readonly sessions: { all(): readonly Session[] };
  readonly pendingCalls: { readonly size: number };
  readonly backends: Iterable<Backend>;
  readonly generation: number;
  /** Absent where nothing is pinned. */
  readonly pins: PinGuard | undefined;
  /** Open event streams. */
  readonly streams: number;
  /** By the paths of endpoints with a budget. */
  readonly toolLists: ReadonlyMap<string, ListCost>;
}

const backendStates: readonly BackendState['state'][] = ['starting', 'personal', 'ready', 'refused', 'down'];
const usableStates: ReadonlySet<string> = new Set(['personal', 'ready']);
const circuitPhases: readonly NonNullable<Backend['circuit']>[] = ['closed', 'doubtful', 'open', 'half-open'];

/** Counters that have a family of their own. All others are values of the label `event`. */
const counted: Readonly<Record<string, { readonly metric: MetricName; readonly labels?: readonly string[] }>> = {
  'audit.records': { metric: 'auditRecords' },
  'audit.lost': { metric: 'auditLost' },
  'log.dropped': { metric: 'logDropped' },
  'config.reloaded': { metric: 'reloads', labels: ['applied'] },
  'config.refused': { metric: 'reloads', labels: ['refused'] },
};

export function readGauges(sources: MetricSources): readonly Series[] {
  const gauges = new Gauges();
  gauges.set('generation', sources.generation);
  gauges.set('pendingCalls', sources.pendingCalls.size);
  gauges.set('streams', sources.streams);
  gauges.set('build', 1, about.version, process.versions.node);
  readSessions(gauges, sources.sessions.all());
  for (const backend of sources.backends) readBackend(gauges, backend);
  if (sources.pins !== undefined) readPins(gauges, sources.pins);
  for (const [path, { tokens, wholeTokens }] of sources.toolLists) {
    gauges.set('toolListTokens', tokens, path, 'listed');
    gauges.set('toolListTokens', wholeTokens, path, 'whole');
  }
  const counts = sources.counters.snapshot();
  for (const [name, { metric, labels = [] }] of Object.entries(counted))
    gauges.set(metric, counts[name] ?? 0, ...labels);
  for (const [name, count] of Object.entries(counts)) if (!(name in counted)) gauges.set('events', count, name);
  return gauges.all();
}

/** Series that are made for one scrape. */
export class Gauges {
  readonly #series = new Map<MetricName, Series>();

  set(metric: MetricName, value: number, ...labels: readonly string[]): void {
    const series = this.#of(metric);
    series.set(series.of(...labels), value);
  }

  add(metric: MetricName, by: number, ...labels: readonly string[]): void {
    const series = this.#of(metric);
    series.add(series.of(...labels), by);
  }

  all(): readonly Series[] {
    return [...this.#series.values()];
  }

  #of(metric: MetricName): Series {
    const known = this.#series.get(metric);
    if (known !== undefined) return known;
    const series = new Series(metricFamilies[metric]);
    this.#series.set(metric, series);
    return series;
  }
}

function readPins(gauges: Gauges, { mode, problem, changeCount }: PinGuard): void {
  gauges.set('pinFile', problem === undefined ? 1 : 0, mode);
  gauges.set('pinChanges', changeCount, mode);
}

function readSessions(gauges: Gauges, sessions: readonly Session[]): void {
  let asking = 0;
  for (const session of sessions) {
    asking += session.asking;
    gauges.add('sessions', 1, session.client.revision);
  }
  gauges.set('serverRequests', asking);
}

function readBackend(gauges: Gauges, { name, state, circuit, processes, lastDiscovery }: Backend): void {
  gauges.set('backendUp', usableStates.has(state.state) ? 1 : 0, name);
  for (const one of backendStates) gauges.set('backendState', one === state.state ? 1 : 0, name, one);
  if (circuit !== undefined)
    for (const phase of circuitPhases) gauges.set('backendCircuit', phase === circuit ? 1 : 0, name, phase);
  if (processes !== undefined) gauges.set('processes', processes, name);
  if (lastDiscovery === undefined) return;
  const { eras, revision } = lastDiscovery;
  gauges.set('backendRevision', 1, name, eras.join('+'), revision);
}
