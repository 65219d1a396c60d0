/**
 * Records calls of JSON-RPC services that are not MCP. Clients choose the methods, and no list has them: only those
 * that the rules of the config spell out become labels.
 */
import type { Config } from '../../config/config.ts';
import type { Clock } from '../../exchange/clock.ts';
import type { ObservedRpc, RpcEnding, RpcObserver } from '../../jsonrpc/ports.ts';
import { compileGlob } from '../../policy/glob.ts';
import { CANCELLED, codeEnding, endings, toldFailure, WELL } from './endings.ts';
import { metricFamilies } from './families.ts';
import { MOST_NAMES } from './label-names.ts';
import { OTHER, Series, wholeMicroseconds } from './series.ts';

export class RpcRecorder implements RpcObserver {
  readonly calls = new Series(metricFamilies.rpcCall);
  readonly #clock: Pick<Clock, 'now'>;
  readonly #open: Series;
  /** A config outlives its requests, so there are few. */
  readonly #methods = new WeakMap<Config, ReadonlySet<string>>();

  constructor(clock: Pick<Clock, 'now'>, open: Series) {
    this.#clock = clock;
    this.#open = open;
  }

  began({ arrival, call }: ObservedRpc): void {
    if (call.kind === 'request') this.#open.add(this.#open.of(arrival.endpoint.path));
  }

  ended({ arrival, call, startedAt }: ObservedRpc, ending: RpcEnding): void {
    const { path } = arrival.endpoint;
    if (call.kind === 'request') this.#open.add(this.#open.of(path), -1);
    const method = this.#known(arrival.sender.generation.config).has(call.method) ? call.method : OTHER;
    const { errorType = '', reason = '' } = endings[endingOf(ending)] ?? {};
    this.calls.observe(
      this.calls.of(path, method, errorType, reason),
      wholeMicroseconds(this.#clock.now() - startedAt),
    );
  }

  #known(config: Config): ReadonlySet<string> {
    const known = this.#methods.get(config);
    if (known !== undefined) return known;
    const named = new Set(config.policy?.rules.flatMap(({ on }) => on?.methods ?? []).flatMap(exactName));
    const methods = new Set([...named].slice(0, MOST_NAMES));
    this.#methods.set(config, methods);
    return methods;
  }
}

/** None where the pattern stands for several methods. */
function exactName(pattern: string): readonly string[] {
  const glob = compileGlob(pattern, 'name');
  return typeof glob !== 'string' && glob.form === 'exact' ? [glob.prefix] : [];
}

function endingOf({ outcome, failure, code }: RpcEnding): number {
  // The codes of downstream/rpc.ts.
  if (failure !== undefined) return toldFailure(failure.reason, 'modern');
  if (outcome === 'cancelled') return CANCELLED;
  return outcome === 'error' ? codeEnding(code) : WELL;
}
