/** What the console needs from the gateway, and who uses it. */
import type { Lists } from '../catalog/lists.ts';
import type { ConsoleRight } from '../config/console.ts';
import type { Clock } from '../exchange/clock.ts';
import type { Credentials, Principal } from '../identity/principal.ts';
import type { BackendAccount } from '../oauth/client/accounts.ts';
import type { Warn } from '../observe/ports.ts';
import type { McpGateway } from '../pipeline/gateway.ts';
import type { CurrentGeneration } from '../pipeline/generation.ts';
import type { ApprovalDesk } from '../pipeline/services.ts';
import type { Sessions } from '../session/sessions.ts';
import type { UpstreamPool } from '../upstream/upstream-pool.ts';
import type { ConsoleRecorder } from './recorder.ts';

export interface ConsolePorts {
  readonly currentGeneration: CurrentGeneration;
  readonly approvals: ApprovalDesk;
  readonly gateway: Pick<McpGateway, 'authenticate' | 'receive' | 'revokeStreams'>;
  readonly sessions: Sessions;
  readonly lists: Lists;
  readonly upstreams: UpstreamPool;
  readonly recorder: ConsoleRecorder;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly timeOfDay: () => number;
  readonly startedAt: number;
  readonly digest: (text: string) => string;
  /** Acts of operators are logged. */
  readonly warn: Warn;
  /** The accounts that the principal has at backends. Never rejects. */
  accountsOf(principal: Principal): Promise<readonly BackendAccount[]>;
}

/** Who uses the console or a command. */
export interface Operator {
  readonly principal: Principal;
  /** What is presented at an endpoint when the operator tries a call. Absent: calls cannot be tried. */
  readonly credentials: Credentials | undefined;
  readonly rights: ReadonlySet<ConsoleRight>;
  /** Whether a browser session says who it is. */
  readonly byCookie?: boolean | undefined;
  /** The client address. Absent over the control socket. */
  readonly address?: string | undefined;
}

/** The request cannot be answered: with an HTTP status, a reason that programs match on, and a text for people. */
export class ConsoleRefusal extends Error {
  override readonly name = 'ConsoleRefusal';
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}
