/**
 * Policies that Cedar has parsed. Cedar keeps them under an id, and cannot forget an id: so there are few ids, and who
 * finds its id taken by other policies has its own parsed again. Two configs may be in force at the same time while
 * the requests of the earlier one end.
 */
import type { AuthorizationAnswer, EntityUid, StatefulAuthorizationCall } from '@cedar-policy/cedar-wasm/nodejs';
import type { CedarModule } from './module.ts';
import type { CedarEntity, CedarPolicy } from './settings.ts';

/** Each config has two. A reload in every second, with requests that take a few seconds, has not more at once. */
const IDS = 8;
const holders = new Array<PreparedPolicies | undefined>(IDS).fill(undefined);
let made = 0;

export interface CedarQuestion {
  readonly principal: EntityUid;
  readonly action: EntityUid;
  readonly resource: EntityUid;
  readonly context: Readonly<Record<string, unknown>>;
  readonly entities: readonly CedarEntity[];
}

export class PreparedPolicies {
  readonly #policies: Readonly<Record<string, string>>;
  readonly #cedar: CedarModule;
  readonly #at: number;

  constructor(policies: readonly CedarPolicy[], cedar: CedarModule) {
    this.#policies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
    this.#cedar = cedar;
    this.#at = made++ % IDS;
    this.#prepare();
  }

  /** Throws where Cedar cannot read the question. */
  decide(question: CedarQuestion): AuthorizationAnswer {
    if (holders[this.#at] !== this) this.#prepare();
    const call = { ...question, preparsedPolicySetId: this.#id };
    return this.#cedar.statefulIsAuthorized(call as unknown as StatefulAuthorizationCall);
  }

  get #id(): string {
    return `bascule-${this.#at}`;
  }

  #prepare(): void {
    const answer = this.#cedar.preparsePolicySet(this.#id, { staticPolicies: { ...this.#policies } });
    if (answer.type === 'failure') throw new Error(answer.errors.map(({ message }) => message).join('; '));
    holders[this.#at] = this;
  }
}
