/** The content of `/readyz`: whether anything can be served, and the state of each backend. */

import type { Readiness } from '../downstream/health.ts';
import type { BackendState } from '../exchange/upstream-session.ts';
import type { RpcServiceState } from '../jsonrpc/ports.ts';
import { explanationOf } from '../observe/cause.ts';
import type { Generation } from '../pipeline/generation.ts';

type ServedParts = Pick<Generation, 'backends' | 'services' | 'config'>;

/** States in which a backend or service cannot serve anything. */
const absent: ReadonlySet<string> = new Set(['starting', 'down']);

/** `isOpen`: requests are let in. Before that nothing is ready, whatever the state of the backends. */
export function readinessOf({ backends, services, config }: ServedParts, isOpen: boolean): Readiness {
  const all = [...backends, ...services.values()];
  return {
    generation: config.generation,
    ready: isOpen && (all.length === 0 || all.some(({ state }) => !absent.has(state.state))),
    backends: Object.fromEntries(all.map(({ name, state }) => [name, shown(state)])),
  };
}

function shown(state: BackendState | RpcServiceState): Readiness['backends'][string] {
  if (!('failure' in state)) return { state: state.state };
  const { failure } = state;
  return { state: state.state, message: failure.message, ...explanationOf(failure) };
}
