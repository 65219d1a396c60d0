/** A policy as its author wrote it: validated and complete, but not compiled. */
import type { CedarSettings } from '../decisions/cedar/settings.ts';
import type { DecisionPointSettings } from '../decisions/settings.ts';
import type { AskKind } from './actions.ts';
import type { ApprovalTerms } from './approval.ts';

export type Mode = 'enforce' | 'audit';
export const modes: readonly Mode[] = ['enforce', 'audit'];
/** How a rule is matched: a denial applies in doubt, an allowance does not. */
export type Effect = 'allow' | 'deny';
export const ruleEffects = ['allow', 'deny', 'approval'] as const;
export type RuleEffect = (typeof ruleEffects)[number];

export interface PolicySettings {
  /** `audit`: rules deny nothing; what they would have denied is recorded. */
  readonly mode: Mode;
  /** Actions that need no rule to be allowed. */
  readonly open: readonly string[];
  /** Backends whose tool annotations are trusted. Annotations of others are ignored. */
  readonly trustAnnotationsOf: readonly string[];
  /** The claim that holds a principal's groups. */
  readonly groupsClaim: string;
  readonly rules: readonly Rule[];
  /** Services outside the gateway that decide after the rules. */
  readonly decisions?: readonly DecisionPointSettings[] | undefined;
  /** Cedar policies that decide after the rules. */
  readonly cedar?: CedarSettings | undefined;
}

/** Every part must hold; of a list, one entry. An undefined part always holds. */
export interface Rule {
  readonly id: string;
  readonly effect: RuleEffect;
  /** Of a rule that demands an approval, and only of one. */
  readonly approval?: ApprovalTerms | undefined;
  /** `audit`: recorded, but decides nothing. */
  readonly mode: Mode;
  readonly who: Who;
  /** Actions; undefined: all. */
  readonly what?: readonly string[] | undefined;
  readonly on: On;
  /** Tests of single arguments by name. */
  readonly with: Readonly<Record<string, ArgumentTest>>;
  readonly when?: Condition | undefined;
}

export interface Who {
  /** Subjects of tokens; `key:<name>`, `client:<id>` and `local` for all others. `*` is everybody. */
  readonly principals?: readonly string[] | undefined;
  readonly issuers?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly claims?: Readonly<Record<string, readonly ClaimValue[]>> | undefined;
  readonly groups?: readonly string[] | undefined;
  /** Names of keys. */
  readonly keys?: readonly string[] | undefined;
}

export type ClaimValue = string | number | boolean;

/** `endpoints` and `backends` restrict the rule; the other lists together select the targets. */
export interface On {
  readonly endpoints?: readonly string[] | undefined;
  readonly backends?: readonly string[] | undefined;
  /** Names as clients see them at the endpoint. */
  readonly tools?: readonly string[] | undefined;
  readonly prompts?: readonly string[] | undefined;
  readonly uris?: readonly string[] | undefined;
  readonly asks?: readonly AskKind[] | undefined;
  /** Of JSON-RPC services. */
  readonly methods?: readonly string[] | undefined;
  readonly annotations?: Hints | undefined;
}

/** https://modelcontextprotocol.io/specification/2026-07-28/schema#toolannotations */
export const hintNames = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;
export type HintName = (typeof hintNames)[number];
export type Hints = { readonly [Name in HintName]?: boolean | undefined };

export type Scalar = string | number | boolean | null;

/** Every item of an array is tested. If some pass and some do not, the test is ambiguous and fails. */
export interface ArgumentTest {
  readonly equals?: readonly Scalar[] | undefined;
  readonly glob?: readonly string[] | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Text in UTF-8, everything else as JSON. */
  readonly minBytes?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly present?: boolean | undefined;
}

export const factNames = [
  ...(['principal', 'action', 'endpoint', 'backend'] as const),
  ...(['kind', 'name', 'arguments', 'annotations'] as const),
] as const;
export type FactName = (typeof factNames)[number];

type TextFact = Exclude<FactName, 'principal' | 'arguments' | 'annotations'>;
const structured: readonly FactName[] = ['principal', 'arguments', 'annotations'];
export const textFacts = factNames.filter((name): name is TextFact => !structured.includes(name));

/** Members of `principal` that are always text. */
export const needMembers = ['kind', 'issuer', 'subject', 'clientId', 'key'] as const;

/** The condition is false if the fact, or this member of it, is a different text. */
export type Need = { readonly value: string } & (
  | { readonly fact: 'principal'; readonly member: (typeof needMembers)[number] }
  | { readonly fact: TextFact; readonly member?: undefined }
);

export interface ArgumentPath {
  /** Names of members and indexes of lists, outermost first. Empty: all arguments. */
  readonly steps: readonly (string | number)[];
  /** Whether the whole value may be read; else only whether it exists. */
  readonly whole: boolean;
}

/** What a condition reads of the arguments. */
export interface ArgumentsRead {
  readonly paths: readonly ArgumentPath[];
  /** Texts that could be names of nested members. */
  readonly names: ReadonlySet<string>;
}

/** Where a condition reads its facts. Values over a limit cannot be read: policy/facts.ts. */
export interface Facts {
  fact(name: FactName): unknown;
  /** A member within `arguments`, if it is a text, a boolean or null; else undefined. */
  argument(steps: readonly string[]): unknown;
}

/** A parsed expression. `policy/` has no expression language of its own: it is passed in. */
export interface Condition {
  readonly text: string;
  readonly reads: ReadonlySet<FactName>;
  readonly needs: readonly Need[];
  readonly arguments: ArgumentsRead;
  /** Undefined if it could not be evaluated. Never throws, and ends soon whatever the facts are. */
  evaluate(facts: Facts): boolean | undefined;
}
