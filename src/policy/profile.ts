/**
 * Hard denials: what an endpoint or a backend does not support. Decided before any rule, the same in every mode and for
 * every transport. Revisions, media types and sizes are checked earlier, by the code that reads them.
 */
import { Failure, type Reason } from '../errors/failure.ts';
import { hasBatches, type Profile, type Revision } from '../wire/revisions.ts';
import { isObject } from '../wire/values.ts';
import type { AskKind } from './actions.ts';

/** Settings of an endpoint besides revisions, batches and media types. */
export interface FullProfile extends Profile {
  /** `flat`: forms are objects of primitives, as the specification requires; `any` passes every form on. */
  readonly elicitation: 'any' | 'flat';
  /** `plain`: only the characters that the specification recommends. */
  readonly toolNames: 'any' | 'plain';
  /** Set if the endpoint differs from the general limits. */
  readonly bodyBytes?: number | undefined;
  readonly jsonDepth?: number | undefined;
}

/** What a backend may do. */
export interface BackendProfile {
  readonly asks: readonly AskKind[];
  /** The revisions to use with it. */
  readonly revisions: readonly Revision[];
}

/** Something in a message that a profile may forbid. */
export type Form =
  | { readonly form: 'tool'; readonly name: string }
  /** `params` of `elicitation/create`. */
  | { readonly form: 'elicitation'; readonly params: unknown };

/** https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-names */
const PLAIN_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/**
 * Reasons why a message is refused for its form, before the rules. Tool names and elicitations are not here: rules see
 * them.
 */
const formReasons: ReadonlySet<Reason> = new Set([
  ...(['unsupported_batch', 'unsupported_mcp_batch', 'unsupported_version', 'unsupported_version_header'] as const),
  ...(['not_acceptable', 'body_too_large', 'too_deep'] as const),
]);

export function isForm({ reason }: Failure): boolean {
  return formReasons.has(reason);
}

/** Undefined if the profile allows it. */
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

/**
 * 2025-03-26 must accept batches; no other revision has them. Decided as soon as the array is seen: no member is
 * parsed.
 */
export function denyBatch(profile: Profile, revision: Revision | undefined): Failure | undefined {
  const allowed = profile.batches === 'allow' && revision !== undefined && hasBatches(revision);
  return allowed ? undefined : new Failure('unsupported_mcp_batch');
}

/** The gateway sends the failure to the backend. The client never sees the server request. */
export function denyAsk({ asks }: Pick<BackendProfile, 'asks'>, ask: AskKind): Failure | undefined {
  if (asks.includes(ask)) return undefined;
  return new Failure('ask_not_supported', { message: `The profile of this backend does not allow ${ask}` });
}

const primitives: readonly unknown[] = ['string', 'number', 'integer', 'boolean'];

/**
 * Forms that every client can show: flat objects of primitives.
 * https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#requested-schema
 * Returns why the form is not flat; undefined if it is, or if the elicitation has a URL instead of a form.
 */
function notFlat(params: unknown): string | undefined {
  if (!isObject(params)) return 'The parameters of an elicitation must be an object';
  if (params.mode === 'url') return undefined;
  const { requestedSchema: schema } = params;
  if (!isObject(schema) || schema.type !== 'object' || !isObject(schema.properties)) {
    return 'requestedSchema must be an object with properties';
  }
  for (const [name, property] of Object.entries(schema.properties)) {
    if (!isPrimitive(property) && !isChoiceOfSeveral(property)) return `${name} is not a primitive`;
  }
  return undefined;
}

function isPrimitive(property: unknown): boolean {
  if (!isObject(property) || !primitives.includes(property.type)) return false;
  return !['properties', 'items', '$ref', 'allOf', 'anyOf'].some((word) => Object.hasOwn(property, word));
}

/** Since 2025-11-25, several entries of a list of texts can be chosen. */
function isChoiceOfSeveral(property: unknown): boolean {
  if (!isObject(property) || property.type !== 'array' || !isObject(property.items)) return false;
  const { items } = property;
  if (Array.isArray(items.enum)) return items.type === 'string' && items.enum.every((one) => typeof one === 'string');
  const choices = items.anyOf;
  return Array.isArray(choices) && choices.every((one) => isObject(one) && typeof one.const === 'string');
}
