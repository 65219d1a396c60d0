/**
 * Records what messages and calls cost and how they ended, where metrics are served. Recording finds numbers by
 * numbers, and allocates nothing.
 */
import type { BackendConfig } from '../../config/config.ts';
import type { Failure } from '../../errors/failure.ts';
import type { CallOutcome } from '../../exchange/call.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { CallObserver, MessageEnding, MessageObserver, ObservedCall } from '../../exchange/observer.ts';
import type { RequestContext } from '../../pipeline/context.ts';
import type { Session } from '../../session/session.ts';
import { type MethodRow, methodRow } from '../../wire/methods.ts';
import { type Revision, revisions } from '../../wire/revisions.ts';
import { member } from '../../wire/values.ts';
import type { ObservedDenial, SessionTransport, Watcher } from '../watchers.ts';
import { CANCELLED, callFailure, errorEnding, resultEnding, toldFailure, WELL } from './endings.ts';
import { metricFamilies } from './families.ts';
import { ListedNames } from './listed-names.ts';
import { nameIndex, Operations, UNNAMED } from './operations.ts';
import { RpcRecorder } from './rpc-recorder.ts';
import { Series, wholeMicroseconds } from './series.ts';

const UNKNOWN = -1;

/** What is recorded at one endpoint, over one transport. */
interface EndpointRecords {
  readonly operations: Operations;
  readonly open: number;
  readonly overhead: number;
  readonly listens: number;
}

export class Recorder implements Watcher, MessageObserver<RequestContext> {
  readonly messages = this;
  readonly names = new ListedNames();
  readonly serverOperation = new Series(metricFamilies.serverOperation);
  readonly clientOperation = new Series(metricFamilies.clientOperation);
  readonly serverSession = new Series(metricFamilies.serverSession);
  readonly overhead = new Series(metricFamilies.overhead);
  readonly listenDuration = new Series(metricFamilies.listenDuration);
  readonly open = new Series(metricFamilies.open);
  readonly openCalls = new Series(metricFamilies.openCalls);
  readonly bridged = new Series(metricFamilies.bridged);
  readonly denials = new Series(metricFamilies.denials);
  readonly rateExceeded = new Series(metricFamilies.rateExceeded);
  readonly httpFailures = new Series(metricFamilies.httpFailures);
  readonly rpc: RpcRecorder;
  readonly #clock: Pick<Clock, 'now'>;
  /** By both revisions: the series of the pair. */
  readonly #pairs = new Int16Array(revisions.length * revisions.length).fill(UNKNOWN);
  readonly #tcp = new Map<string, EndpointRecords>();
  readonly #pipe = new Map<string, EndpointRecords>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
    this.rpc = new RpcRecorder(clock, this.open);
  }

  get series(): readonly Series[] {
    return [
      ...[this.serverOperation, this.clientOperation, this.serverSession, this.overhead, this.listenDuration],
      ...[this.open, this.openCalls, this.bridged, this.denials, this.rateExceeded, this.httpFailures],
      this.rpc.calls,
    ];
  }

  began(context: RequestContext): void {
    if (context.message.kind === 'request') this.open.add(this.#recordsOf(context).open);
  }

  ended(context: RequestContext, ending: MessageEnding): void {
    const { message, session, startedAt } = context;
    if (message.kind !== 'request' && message.kind !== 'notification') return;
    const records = this.#recordsOf(context);
    if (message.kind === 'request') this.open.add(records.open, -1);
    const ms = this.#clock.now() - startedAt;
    const us = wholeMicroseconds(ms);
    const row: MethodRow | undefined = context.row ?? methodRow(message.method);
    if (row?.longLived === true && ending.failure === undefined) {
      this.listenDuration.observe(records.listens, us);
      return;
    }
    const { bytes, params } = context.target?.message ?? message;
    const name = row?.name === 'name' ? nameIndex(this.names, row, bytes, member(params, 'name')) : UNNAMED;
    const revision: Revision | undefined = (session?.client ?? context.client)?.revision;
    const series = records.operations.of(row, name, endingOf(ending, context), revision);
    this.serverOperation.observe(series, us);
    if (context.upstreamCalls > 0 && ending.outcome !== 'cancelled')
      this.overhead.observe(records.overhead, wholeMicroseconds(Math.max(0, ms - context.upstreamMs)));
  }

  calls({ name: backend, kind }: BackendConfig): CallObserver {
    const operations = new Operations(this.clientOperation, backend, kind === 'http' ? 'tcp' : 'pipe', this.names);
    const open = this.openCalls.of(backend);
    return {
      began: () => this.openCalls.add(open),
      ended: (call, outcome) => {
        this.openCalls.add(open, -1);
        this.#called(operations, call, outcome);
      },
    };
  }

  denied({ endpoint, failure, rules }: ObservedDenial): void {
    const { reason, data } = failure;
    for (const rule of rules.length === 0 ? [''] : rules) this.denials.add(this.denials.of(endpoint, reason, rule));
    if (reason === 'rate_limited') this.rateExceeded.add(this.rateExceeded.of(String(data?.limit ?? '')));
  }

  failed({ reason }: Failure): void {
    this.httpFailures.add(this.httpFailures.of(reason));
  }

  sessionEnded({ openedAt, client }: Session, via: SessionTransport): void {
    const series = this.serverSession.of(client.revision, via === 'stdio' ? 'pipe' : 'tcp');
    this.serverSession.observe(series, wholeMicroseconds(this.#clock.now() - openedAt));
  }

  #called(operations: Operations, call: ObservedCall, outcome: CallOutcome | undefined): void {
    const { revision, request } = call;
    const { row, message, client, origin } = request;
    const ms = this.#clock.now() - call.startedAt;
    if (origin !== undefined) {
      origin.upstreamMs += ms;
      origin.upstreamCalls += 1;
      if (revision !== undefined && client.revision !== revision)
        this.bridged.add(this.#pair(client.revision, revision));
    }
    if (outcome?.kind === 'result' && row.list !== undefined) this.names.learn(row, outcome.message);
    // A stream that lives as long as its client wants says nothing about the backend.
    if (row.longLived === true && outcome?.kind !== 'failure') return;
    const { bytes, params } = message;
    const name = row.name === 'name' ? nameIndex(this.names, row, bytes, member(params, 'name')) : UNNAMED;
    const series = operations.of(row, name, outcomeEnding(outcome), revision);
    this.clientOperation.observe(series, wholeMicroseconds(ms));
  }

  #pair(client: Revision, backend: Revision): number {
    const key = revisions.indexOf(client) * revisions.length + revisions.indexOf(backend);
    const known = this.#pairs[key] as number;
    if (known !== UNKNOWN) return known;
    const series = this.bridged.of(client, backend);
    this.#pairs[key] = series;
    return series;
  }

  #recordsOf({ endpoint: { path }, connection }: RequestContext): EndpointRecords {
    const isPipe = connection?.via === 'stdio';
    return (isPipe ? this.#pipe : this.#tcp).get(path) ?? this.#newRecords(path, isPipe);
  }

  /** Paths come from the config, so there are few. */
  #newRecords(path: string, isPipe: boolean): EndpointRecords {
    const records = {
      operations: new Operations(this.serverOperation, path, isPipe ? 'pipe' : 'tcp', this.names),
      open: this.open.of(path),
      overhead: this.overhead.of(path),
      listens: this.listenDuration.of(path),
    };
    (isPipe ? this.#pipe : this.#tcp).set(path, records);
    return records;
  }
}

function endingOf({ outcome, failure, from }: MessageEnding, { era }: RequestContext): number {
  if (failure !== undefined) return toldFailure(failure.reason, era);
  if (outcome === 'cancelled') return CANCELLED;
  if (from === undefined) return WELL;
  return from.kind === 'error' ? errorEnding(from) : resultEnding(from);
}

function outcomeEnding(outcome: CallOutcome | undefined): number {
  if (outcome === undefined) return CANCELLED;
  if (outcome.kind === 'failure') return callFailure(outcome.failure.reason);
  return outcome.kind === 'error' ? errorEnding(outcome.message) : resultEnding(outcome.message);
}
