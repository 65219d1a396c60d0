/** The answers of the API, as the pages read them. */

export interface Me {
  readonly id: string;
  readonly who: string;
  readonly rights: readonly string[];
  readonly canTry: boolean;
  readonly endpoints: readonly string[];
  readonly people: readonly { readonly id: string; readonly who: string }[];
  /** Whether the policy asks people for approvals. */
  readonly isAsking: boolean;
}

export interface ApprovalFacts {
  readonly id: string;
  readonly by: 'caller' | 'other';
  readonly caller: string;
  readonly client?: string;
  readonly endpoint: string;
  readonly backend: string;
  readonly method: string;
  readonly name?: string;
  readonly rules: readonly string[];
  readonly preview: { readonly text: string; readonly isComplete: boolean; readonly hash: string };
  readonly askedAt: number;
  readonly until: number;
  readonly forMs?: number;
  readonly isOwn: boolean;
  /** Why it cannot be approved from here. */
  readonly whyNot?: string;
}

export interface ApprovalsAnswer {
  readonly now: number;
  readonly approvals: readonly ApprovalFacts[];
}

export interface ShownTraffic {
  readonly rate?: number;
  readonly inFlight?: number;
}

export interface EndpointFacts extends ShownTraffic {
  readonly path: string;
  readonly backends: readonly string[];
  readonly protocol: string;
  readonly access: string;
  readonly revisions: readonly string[];
}

export interface BackendFacts extends ShownTraffic {
  readonly name: string;
  readonly kind?: string;
  readonly address?: string;
  readonly state: string;
  readonly since?: number;
  readonly source?: string;
  readonly at?: number;
  readonly eras?: readonly string[];
  readonly revision?: string;
  readonly server?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly cause?: string;
  readonly cure?: string;
}

export interface ShownClient {
  readonly client?: string;
  readonly revision?: string;
  readonly era?: string;
  readonly endpoints: readonly string[];
  readonly people: number;
  readonly lastAt: number;
}

export interface Overview {
  readonly now: number;
  readonly gateway: ShownTraffic & {
    readonly version: string;
    readonly startedAt: number;
    readonly generation: number;
    readonly source: string;
    readonly sessions: number;
  };
  readonly endpoints: readonly EndpointFacts[];
  readonly backends: readonly BackendFacts[];
  readonly clients: readonly ShownClient[];
}

export interface Point {
  readonly at: number;
  /** Absent in minutes before the gateway ran. */
  readonly calls?: number;
  readonly errors?: number;
  readonly p50?: number;
  readonly p95?: number;
}

export interface ShownHistory {
  readonly points: readonly Point[];
}

export interface CallRow {
  readonly id: number;
  readonly at: number;
  readonly ms: number;
  readonly who: string;
  readonly client?: string;
  readonly era: string;
  readonly revision?: string;
  readonly endpoint: string;
  readonly method: string;
  readonly name?: string;
  readonly backend?: string;
  readonly outcome: string;
  readonly reason?: string;
  readonly rules: readonly string[];
}

export interface Calls {
  readonly now: number;
  readonly newest: number;
  readonly oldest: number;
  readonly isCut: boolean;
  readonly calls: readonly CallRow[];
}

export interface OneCall extends CallRow {
  readonly now: number;
  readonly person: string;
  readonly session?: string;
  readonly decision: {
    readonly rules: readonly string[];
    readonly wouldDeny?: readonly string[];
    readonly generation: number;
  };
  readonly timings: {
    readonly ms: number;
    readonly atBackends?: number;
    readonly backends: readonly {
      readonly backend: string;
      readonly afterMs: number;
      readonly ms?: number;
      readonly code?: number;
    }[];
  };
  readonly bodies?: { readonly request?: string; readonly response?: string };
  readonly recordsBodies: boolean;
}

export interface ToolFacts {
  readonly name: string;
  readonly backend: string;
  readonly own?: string;
  readonly title?: string;
  readonly description?: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly inputSchema?: unknown;
  readonly state: 'shown' | 'hidden';
  readonly rules?: readonly string[];
  readonly why?: string;
}

export interface ListFacts {
  readonly backend: string;
  readonly state: string;
  readonly at?: number;
  readonly tools?: number;
  readonly message?: string;
  readonly reason?: string;
  readonly cause?: string;
  readonly cure?: string;
}

export interface Tools {
  readonly now: number;
  readonly who: string;
  readonly isOwn: boolean;
  readonly admitted: boolean;
  readonly tools: readonly ToolFacts[];
  readonly collisions: readonly { readonly name: string; readonly backends: readonly string[] }[];
  readonly backends: readonly ListFacts[];
}

export interface PersonFacts {
  readonly id: string;
  readonly who: string;
  readonly kind: string;
  readonly issuer?: string;
  readonly calls: number;
  readonly lastAt: number;
  readonly sessions: number;
  readonly uses: readonly { readonly client?: string; readonly revision?: string; readonly endpoint: string }[];
}

export interface ShownSession {
  readonly id: string;
  readonly who: string;
  readonly endpoint: string;
  readonly client?: string;
  readonly revision: string;
  readonly openedAt: number;
  readonly lastAt: number;
  readonly inFlight: number;
  readonly backends: readonly { readonly backend: string; readonly state: string }[];
}

export interface People {
  readonly now: number;
  readonly total: number;
  readonly people: readonly PersonFacts[];
  readonly sessions: { readonly total: number; readonly shown: readonly ShownSession[] };
}

export interface ShownAccount {
  readonly backend: string;
  readonly state: string;
  readonly since?: number;
  readonly scopes?: readonly string[];
  readonly shared: boolean;
}

export interface OnePerson {
  readonly now: number;
  readonly accounts: readonly ShownAccount[];
}

export interface RuleFacts {
  readonly id: string;
  readonly effect: string;
  readonly mode: string;
  readonly text: string;
  readonly allowed: number;
  readonly denied: number;
  readonly wouldDeny: number;
  readonly lastAt?: number;
}

export interface PolicyAnswer {
  readonly now: number;
  readonly since: number;
  readonly mode: string;
  readonly open: readonly string[];
  readonly unmatched: number;
  readonly rules: readonly RuleFacts[];
  readonly rates: readonly { readonly id: string; readonly text: string }[];
}

export interface Decision {
  readonly decision: string;
  readonly rules: readonly string[];
  readonly why: string;
  readonly who: string;
  readonly endpoint: string;
  readonly backend?: string;
  readonly wouldDeny?: readonly string[];
}

export interface ShownTry {
  readonly outcome: string;
  readonly ms?: number;
  readonly result?: unknown;
  readonly error?: unknown;
  readonly reason?: string;
  readonly message?: string;
}
