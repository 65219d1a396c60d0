/**
 * Hard denials: what an endpoint, or a backend, does not have. Decided before any rule, the same in every mode and on every way
 * in. Revisions, media types and sizes are refused by those who read them, before it is known what is wanted.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import { hasBatches, type Profile, type Revision } from '../wire/revisions.ts';
import type { AskKind } from './actions.ts';
import { notFlat } from './elicitation.ts';

/** What an endpoint is strict about besides revisions, batches and media types. */
export interface FullProfile extends Profile {
  /** `flat`: forms are objects of primitives, as the specification restricts them; `any` passes on whatever a backend asks. */
  readonly elicitation: 'any' | 'flat';
  /** `plain`: the characters that the specification advises. */
  readonly toolNames: 'any' | 'plain';
  /** Where the endpoint departs from the limits of all. */
  readonly bodyBytes?: number | undefined;
  readonly jsonDepth?: number | undefined;
}

/** What a backend is let do. */
export interface BackendProfile {
  readonly asks: readonly AskKind[];
  /** In which it is spoken to. */
  readonly revisions: readonly Revision[];
}

/** Something in a message that a profile may not have. */
export type Form =
  | { readonly form: 'tool'; readonly name: string }
  /** `params` of `elicitation/create`. */
  | { readonly form: 'elicitation'; readonly params: unknown };

/** https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** Why a message is refused before rules are asked, where it is for its form. A tool's name and an elicitation are known to them. */
const formReasons: ReadonlySet<Reason> = new Set([
  ...(['unsupported_batch', 'unsupported_mcp_batch', 'unsupported_version', 'unsupported_version_header'] as const),
  ...(['not_acceptable', 'body_too_large', 'too_deep'] as const),
]);

export function isForm({ reason }: Failure): boolean {
  return formReasons.has(reason);
}

/** Undefined where the profile has it. */
export function hardDenial(profile: FullProfile, given: Form): Failure | undefined {
  switch (given.form) {
    case 'tool':
      return isNameAdmitted(profile, given.name) ? undefined : new Failure('invalid_params', { message: badName });
    case 'elicitation': {
      const why = profile.elicitation === 'any' ? undefined : notFlat(given.params);
      return why === undefined ? undefined : new Failure('invalid_params', { message: why });
    }
  }
}

const badName = 'The name of a tool has up to 128 letters, digits, dots, dashes and underscores here';

/** For lists: a tool that cannot be called is not shown. */
export function isNameAdmitted({ toolNames }: Pick<FullProfile, 'toolNames'>, name: string): boolean {
  return toolNames === 'any' || PLAIN_NAME.test(name);
}

/** 2025-03-26 must receive batches; no other revision has them. Said as soon as the array is seen: no member is parsed. */
export function denyBatch(profile: Profile, revision: Revision | undefined): Failure | undefined {
  const allowed = profile.batches === 'allow' && revision !== undefined && hasBatches(revision);
  return allowed ? undefined : new Failure('unsupported_mcp_batch');
}

/** Answered to the backend in the client's place; the client never hears of it. */
export function denyAsk({ asks }: Pick<BackendProfile, 'asks'>, ask: AskKind): Failure | undefined {
  if (asks.includes(ask)) return undefined;
  return new Failure('ask_not_supported', { message: `This backend may not ask for ${ask}` });
}
