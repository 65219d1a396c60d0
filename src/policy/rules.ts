/** A policy as its author wrote it: checked, complete, and not yet made fast. */
import type { AskKind } from './actions.ts';

export type Mode = 'enforce' | 'audit';
export const modes: readonly Mode[] = ['enforce', 'audit'];
export type Effect = 'allow' | 'deny';

export interface PolicySettings {
  /** `audit`: nothing is denied by rules; what would have been is recorded. */
  readonly mode: Mode;
  /** Actions that need no rule to be allowed. */
  readonly open: readonly string[];
  /** Backends whose tool annotations are believed. Those of all others count as not given. */
  readonly trustAnnotationsOf: readonly string[];
  /** The claim that holds a principal's groups. */
  readonly groupsClaim: string;
  readonly rules: readonly Rule[];
}

/** Every part must hold; of a list, one entry. A part that is absent always holds. */
export interface Rule {
  readonly id: string;
  readonly effect: Effect;
  /** `audit`: recorded, and decides nothing. */
  readonly mode: Mode;
  readonly who: Who;
  /** Actions; absent: all. */
  readonly what?: readonly string[] | undefined;
  readonly on: On;
  /** Tests of single arguments by name. */
  readonly with: Readonly<Record<string, ArgumentTest>>;
  readonly when?: Condition | undefined;
}

export interface Who {
  /** Subjects of tokens; `key:<name>`, `client:<id>` and `local` for everybody else. `*` is everybody. */
  readonly principals?: readonly string[] | undefined;
  readonly issuers?: readonly string[] | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly claims?: Readonly<Record<string, readonly ClaimValue[]>> | undefined;
  readonly groups?: readonly string[] | undefined;
  /** Names of keys. */
  readonly keys?: readonly string[] | undefined;
}

export type ClaimValue = string | number | boolean;

/** `endpoints` and `backends` narrow the rule down; the lists of things together say which things are meant. */
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

/** Of an array, every item is tested; where some pass and some do not, nobody can say which was meant, and the test fails. */
export interface ArgumentTest {
  readonly equals?: readonly Scalar[] | undefined;
  readonly glob?: readonly string[] | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  /** Of text in UTF-8, of everything else as JSON. */
  readonly minBytes?: number | undefined;
  readonly maxBytes?: number | undefined;
  readonly present?: boolean | undefined;
}

export const factNames = [
  ...(['principal', 'action', 'endpoint', 'backend'] as const),
  ...(['kind', 'name', 'arguments', 'annotations'] as const),
] as const;
export type FactName = (typeof factNames)[number];

/** Members of `principal` that are text in every case. */
export const needMembers = ['kind', 'issuer', 'subject', 'clientId', 'key'] as const;

/** A condition is false wherever the fact, or this member of it, is another text. */
export type Need = { readonly value: string } & (
  | { readonly fact: 'principal'; readonly member: (typeof needMembers)[number] }
  | { readonly fact: Exclude<FactName, 'principal' | 'arguments' | 'annotations'>; readonly member?: undefined }
);

export interface ArgumentPath {
  /** Names of members and indexes of lists, from the outside in. None: all arguments. */
  readonly steps: readonly (string | number)[];
  /** Whether all of the value there may be looked at; else whether it is there. */
  readonly whole: boolean;
}

/** What a condition reads of the arguments. */
export interface ArgumentsRead {
  readonly paths: readonly ArgumentPath[];
  /** Texts that could be names of members further down. */
  readonly names: ReadonlySet<string>;
}

/** An expression that was understood. This room has no language of its own: it is handed in. */
export interface Condition {
  readonly text: string;
  readonly reads: ReadonlySet<FactName>;
  readonly needs: readonly Need[];
  readonly arguments: ArgumentsRead;
  /** Undefined where it could not be evaluated. Never throws, and ends soon whatever the facts are. */
  evaluate(fact: (name: FactName) => unknown): boolean | undefined;
}
