/** What a principal is shown in lists: by the profile of its endpoint, and by the rules of one generation. */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Principal } from '../identity/principal.ts';
import type { AuthorizerParts } from './authorizer-parts.ts';
import { isNameAdmitted } from './profile.ts';
import type { Thing } from './question.ts';
import type { UnmatchedNames } from './unmatched-names.ts';

/** The principal to whom something is shown, and the endpoint. */
export interface Viewer {
  readonly principal: Principal;
  readonly endpoint: Endpoint;
}

type NamedThing = Thing & { readonly name: string };

export class Visibility {
  readonly #parts: Pick<AuthorizerParts, 'policy' | 'decisions' | 'unmatched'>;

  constructor(parts: Pick<AuthorizerParts, 'policy' | 'decisions' | 'unmatched'>) {
    this.#parts = parts;
  }

  /** Whether lists and updates may differ between principals. */
  get isShaping(): boolean {
    return this.#parts.policy !== undefined && this.#parts.policy.mode !== 'audit';
  }

  /** Whether entries of lists may be hidden at the endpoint. */
  hides({ profile }: Endpoint): boolean {
    return this.isShaping || this.#parts.decisions !== undefined || profile.toolNames !== 'any';
  }

  /** Equal for principals that are shown the same; undefined where all are. */
  audience({ principal, endpoint }: Viewer): string | undefined {
    const { policy } = this.#parts;
    const names = endpoint.profile.toolNames === 'any' ? '' : 'plain ';
    if (policy === undefined || !this.isShaping) return names === '' ? undefined : names;
    return `${names}${policy.generation} ${policy.audience(principal)}`;
  }

  /** How much of a list is shown: all of it unchanged, some entries (each has to be checked), or none. */
  extent({ principal, endpoint }: Viewer, kind: Thing['kind'], backend: string): 'all' | 'some' | 'none' {
    const { policy } = this.#parts;
    const extent = policy?.extent(principal, kind, { endpoint: endpoint.path, backend }) ?? 'all';
    return extent === 'all' && kind === 'tool' && endpoint.profile.toolNames !== 'any' ? 'some' : extent;
  }

  shows(viewer: Viewer, backend: string, thing: NamedThing, annotations?: () => unknown): boolean {
    return this.hiding(viewer, backend, thing, annotations) === undefined;
  }

  /** Why a list does not show an entry: by the endpoint's profile, or by these rules. Undefined where it does. */
  hiding(
    { principal, endpoint }: Viewer,
    backend: string,
    thing: NamedThing,
    annotations?: () => unknown,
  ): 'profile' | readonly string[] | undefined {
    if (thing.kind === 'tool' && !isNameAdmitted(endpoint.profile, thing.name)) return 'profile';
    return this.#parts.policy?.hiding({ principal, endpoint: endpoint.path, backend, thing, annotations });
  }

  /**
   * The names that rules use and no list has shown yet, where this list of a single backend could show them; otherwise
   * undefined.
   */
  seekerOf(endpoint: Endpoint, list: string): UnmatchedNames | undefined {
    const { unmatched } = this.#parts;
    return unmatched?.seeks(endpoint, list) === true ? unmatched : undefined;
  }
}
