/**
 * Which scopes an operation needs, and which of them a principal lacks. All missing scopes are reported at once:
 * clients get a token for each challenge, and separate challenges would send a person through as many logins.
 * https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#runtime-insufficient-scope-errors
 */
import { Failure } from '../errors/failure.ts';
import type { Principal, ScopedOperation } from './principal.ts';
import type { ScopeSettings } from './settings.ts';

export class ScopeRules {
  readonly #settings: ScopeSettings;
  readonly #hierarchy: Hierarchy;
  /** True where no operation needs a scope. */
  readonly isEmpty: boolean;

  constructor(settings: ScopeSettings, hierarchy: Hierarchy) {
    this.#settings = settings;
    this.#hierarchy = hierarchy;
    const { required, methods, tools } = settings;
    this.isEmpty = [required, Object.keys(methods), Object.keys(tools)].every(({ length }) => length === 0);
  }

  needed({ method, tool }: ScopedOperation = {}): readonly string[] {
    const { required, methods, tools } = this.#settings;
    const forMethod = method === undefined ? none : own(methods, method);
    const forTool = tool === undefined ? none : own(tools, tool);
    return forMethod === none && forTool === none ? required : [...new Set([...required, ...forMethod, ...forTool])];
  }

  /** Undefined if nothing is missing. */
  check(principal: Principal, operation?: ScopedOperation): Failure | undefined {
    const required = this.needed(operation);
    if (required.length === 0) return undefined;
    const missing = this.#hierarchy.missing(required, principal);
    return missing.length === 0 ? undefined : new Failure('scope_insufficient', { data: { required, missing } });
  }
}

const none: readonly string[] = [];

function own(map: Readonly<Record<string, readonly string[]>>, name: string): readonly string[] {
  return Object.hasOwn(map, name) ? (map[name] ?? none) : none;
}

/** Broader scopes imply narrower ones, transitively. Cycles are harmless. */
export class Hierarchy {
  readonly #implies: Readonly<Record<string, readonly string[]>>;
  readonly #held = new WeakMap<Principal, ReadonlySet<string>>();

  constructor(implies: Readonly<Record<string, readonly string[]>> = {}) {
    this.#implies = implies;
  }

  missing(required: readonly string[], principal: Principal): readonly string[] {
    if (principal.scopes === 'all') return none;
    const held = this.#heldBy(principal, principal.scopes);
    return required.filter((scope) => !held.has(scope));
  }

  #heldBy(principal: Principal, scopes: ReadonlySet<string>): ReadonlySet<string> {
    const known = this.#held.get(principal);
    if (known !== undefined) return known;
    // The set grows during iteration.
    const held = new Set(scopes);
    for (const scope of held) for (const implied of own(this.#implies, scope)) held.add(implied);
    this.#held.set(principal, held);
    return held;
  }
}
