/** What a config says of a decision point. */
import { RPC } from '../policy/actions.ts';
import type { ApprovalTerms } from '../policy/approval.ts';
import type { Mode } from '../policy/rules.ts';

/** The actions that decision points can be asked about: those with a target, and those on what a call left behind. */
export const outsideActions = ['call', 'get', 'read', 'subscribe', 'complete', 'task', RPC] as const;
export type OutsideAction = (typeof outsideActions)[number];

export type ProtocolSettings =
  | { readonly kind: 'authzen'; readonly url: string }
  /** `lists`: the rule that filters lists. Absent: lists are not filtered. */
  | { readonly kind: 'opa'; readonly url: string; readonly lists?: string | undefined }
  | { readonly kind: 'webhook'; readonly url: string; readonly secret?: string | undefined };

export interface DecisionPointSettings {
  readonly name: string;
  readonly protocol: ProtocolSettings;
  readonly what: readonly OutsideAction[];
  readonly mode: Mode;
  readonly onFailure: 'allow' | 'deny';
  readonly timeoutMs: number;
  /** Questions under way at once. One principal has at most a quarter of them. */
  readonly concurrent: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The claims of a token that are sent. `*`: all of them. */
  readonly claims: readonly string[];
  /** Whether arguments are sent. A webhook gets the whole message in any case. */
  readonly arguments: boolean;
  /** Who is asked where it answers `approval`. Absent: such an answer is a denial. */
  readonly approval?: ApprovalTerms | undefined;
  /** Whether lists are filtered. */
  readonly lists: boolean;
}
