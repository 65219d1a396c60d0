/** What the bench asks of a contestant. A new one is a file of its own and a row in `run.ts`. */
import { programPath } from '../build.ts';
import { descendantsRunning } from '../system.ts';

/** Which server stands behind it. */
export type Target = 'modern' | 'legacy' | 'legacy-sse' | 'cached';

/**
 * Contestants are compared within one group only: by what the server is reached over, or by what is served where many
 * of them stand behind one address, or by who is let in, or by what is decided and recorded, or by what is observed or
 * traced, or by the edges of HTTP.
 */
export type Group =
  | 'http'
  | 'stdio'
  | 'lists'
  | 'among'
  | 'identity'
  | 'policy'
  | 'usual'
  | 'observe'
  | 'traces'
  | 'edges'
  | PeerGroup;

/** Where Bascule is measured beside other gateways. */
export type PeerGroup = 'peers-http-legacy' | 'peers-http-modern' | 'peers-stdio';

export interface Place {
  readonly url: URL;
  /** The process whose memory counts, and whose CPU time does with all that it has started but the backends. */
  readonly pid: number;
  readonly spawnedAt: number;
  backendPids(): readonly number[];
  /** Where the HTTP backend behind it tells how many sessions and streams it has. */
  readonly backendStats?: URL;
  /** It has no sessions of its own for legacy clients. */
  readonly withoutSessions?: true;
  /** What every request presents. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What clients call a backend's tool, where that is something else; connections are spread over the backends. */
  toolName?(tool: string, connection: number): string;
}

export interface Running {
  at(target: Target): Place;
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly targets: readonly Target[];
  /** For the process that counts. */
  readonly nodeArgs: readonly string[];
  /** Nobody has a process of his own: so many sessions that it would be one each. */
  readonly shared?: boolean;
  /** So many legacy sessions of one principal will be open at once, each with a stream. */
  readonly sessions?: number;
}

export interface Contestant {
  readonly name: string;
  readonly group: Group;
  /** Ratios are taken against the one that is the floor of its group. */
  readonly isFloor?: true;
  /** Of the calls that each of its rounds has, where it is too slow for all of them. */
  readonly share?: number;
  /** Why it can't take part, if it can't. */
  missing?(): string | undefined;
  start(options: StartOptions): Promise<Running>;
}

/** For gateways that start their backends themselves. */
export function backendsUnder(pid: number): () => readonly number[] {
  return () => descendantsRunning(pid, programPath('backend-stdio'));
}
