/** What `/readyz` says: whether anything can be served, and how each backend fares. */

import type { Readiness } from '../downstream/health.ts';
import type { BackendState } from '../exchange/upstream-session.ts';
import { explanationOf } from '../observe/cause.ts';

interface Stated {
  readonly name: string;
  readonly state: BackendState | { readonly state: string };
}

interface Served {
  readonly backends: Iterable<Stated>;
  readonly services: ReadonlyMap<string, Stated>;
  readonly config: { readonly generation: number };
}

/** One of them is being looked for, or is not there: nothing can be served from it. */
const absent: ReadonlySet<string> = new Set(['starting', 'down']);

/** `isOpen`: requests are let in. Before that nothing is ready, whatever the backends are. */
export function readinessOf({ backends, services, config }: Served, isOpen: boolean): Readiness {
  const all = [...backends, ...services.values()];
  return {
    generation: config.generation,
    ready: isOpen && (all.length === 0 || all.some(({ state }) => !absent.has(state.state))),
    backends: Object.fromEntries(all.map(({ name, state }) => [name, shown(state)])),
  };
}

function shown(state: Stated['state']): Readiness['backends'][string] {
  if (!('failure' in state)) return { state: state.state };
  const { failure } = state;
  return { state: state.state, message: failure.message, ...explanationOf(failure) };
}
