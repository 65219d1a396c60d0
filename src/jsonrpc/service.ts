/**
 * A JSON-RPC service over HTTP: its connections, its time limits, and its health. No method is common to all services,
 * so an unreachable service is probed with HEAD at its address: any response means that it is back.
 */
import type { ServiceConfig } from '../config/config.ts';
import type { Limits } from '../config/limits.ts';
import { Failure } from '../errors/failure.ts';
import type { Permit } from '../policy/permit.ts';
import { asFailure } from '../upstream/as-failure.ts';
import { Backoff } from '../upstream/backoff.ts';
import { Deadlines, type TimerClock } from '../upstream/deadlines.ts';
import { HealthMonitor } from '../upstream/health-monitor.ts';
import { wayClosed } from '../upstream/http/context.ts';
import { RequestHeaders } from '../upstream/http/headers.ts';
import { OneWayPost } from '../upstream/http/one-way-post.ts';
import { HTTP_QUEUE, HttpPools } from '../upstream/http/pool.ts';
import { Slots } from '../upstream/slots.ts';
import type { RpcOutgoing, RpcSending, RpcService, RpcServiceState, RpcSink } from './ports.ts';
import { RpcRequest, type RpcServiceParts } from './upstream-request.ts';

export interface ServiceOptions {
  readonly limits: Limits;
  readonly clock: TimerClock;
  /** Called when the service becomes unreachable, and with undefined when it is back. */
  turned(down: Failure | undefined): void;
  /** From 0 up to 1, for jitter. */
  random?(): number;
}

export class HttpRpcService implements RpcService {
  readonly name: string;
  readonly #pools: HttpPools;
  readonly #deadlines: Deadlines;
  readonly #slots: Slots;
  readonly #monitor: HealthMonitor;
  readonly #context: RpcServiceParts;
  readonly #requests = new Set<RpcRequest>();
  #down: Failure | undefined;

  constructor(config: ServiceConfig, { clock, random = Math.random, ...options }: ServiceOptions) {
    const limits = { ...options.limits, ...config.limits };
    const url = new URL(config.url);
    this.name = config.name;
    this.#pools = new HttpPools(
      { url, socket: config.socket },
      {
        connectMs: limits.connectMs,
        headerBytes: limits.headerBytes,
        connections: limits.callsPerBackend,
        queue: HTTP_QUEUE,
        // A JSON-RPC service has no event streams.
        streams: 0,
      },
    );
    this.#deadlines = new Deadlines(limits, clock);
    this.#slots = new Slots(limits, clock);
    this.#monitor = new HealthMonitor({
      limits,
      backoff: new Backoff(limits, random),
      clock,
      look: () => void this.#look(clock, limits.probeMs),
      turned: (down) => {
        this.#down = down;
        options.turned(down);
      },
    });
    const headers = new RequestHeaders(config.headers, 'application/json');
    this.#context = {
      pool: this.#pools.calls,
      slots: this.#slots,
      path: `${url.pathname}${url.search}`,
      headers: () => headers.post({}),
      resultBytes: limits.resultBytes,
      deadlines: this.#deadlines,
      health: this.#monitor,
      over: (request) => void this.#requests.delete(request),
    };
  }

  get state(): RpcServiceState {
    return this.#down === undefined ? { state: 'ready' } : { state: 'down', failure: this.#down };
  }

  send({ holder }: Permit, outgoing: RpcOutgoing, sink: RpcSink): RpcSending {
    const request = new RpcRequest(this.#context, outgoing, sink);
    this.#requests.add(request);
    request.start(holder);
    return request;
  }

  async close(): Promise<void> {
    this.#monitor.close();
    for (const request of [...this.#requests]) request.fail(wayClosed());
    await this.#pools.close();
    this.#deadlines.close();
    this.#slots.close();
  }

  async #look(clock: TimerClock, withinMs: number): Promise<void> {
    const { path, headers } = this.#context;
    const look = OneWayPost.send(this.#pools.oneWay, { method: 'HEAD', path, headers: headers() });
    const stop = clock.after(withinMs, () => look.abort(new Failure('backend_timeout')));
    try {
      await look.taken;
      this.#monitor.found();
    } catch (cause) {
      if (look.status === undefined) this.#monitor.lookFailed(asFailure(cause));
      else this.#monitor.found();
    } finally {
      stop();
    }
  }
}
