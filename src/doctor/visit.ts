/** What `doctor` learns about a server, step by step. */
import type { Challenge } from '../oauth/client/challenge.ts';
import type { Era } from '../wire/revisions.ts';
import type { LoopbackRedirect } from './authorization/loopback.ts';
import type { ResourceFacts, ServerFacts } from './authorization/metadata.ts';
import type { FindingId } from './findings.ts';
import { HttpPeer } from './peer/http.ts';
import type { Peer } from './peer/peer.ts';
import type { Bytes, JsonObject, PeerFault, PeerReply } from './peer/reply.ts';
import { SecretMask } from './peer/secrets.ts';
import { StdioPeer } from './peer/stdio.ts';
import type { Opening, Talk } from './talk.ts';

export type Target =
  | { readonly kind: 'http'; readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly kind: 'stdio'; readonly command: string; readonly args: readonly string[] };

/** A tool that the user named: no tool is called otherwise. */
export interface NamedCall {
  readonly tool: string;
  readonly args: JsonObject;
}

export interface DoctorOptions {
  readonly target: Target;
  readonly eras: readonly Era[];
  /** Of each step. */
  readonly timeoutMs: number;
  readonly call?: NamedCall | undefined;
  readonly register: boolean;
  readonly login: boolean;
  readonly clientId?: string | undefined;
  /** Shows an address to the user, and opens it. */
  readonly openPage: (url: string) => void;
}

export interface StepOutcome {
  readonly state: 'ok' | 'failed' | 'skipped';
  /** What was seen, or why the step was skipped. */
  readonly detail: string;
  readonly finding?: FindingId;
  readonly cure?: string | undefined;
  readonly bytes?: Bytes;
}

export interface DoctorStep {
  readonly name: string;
  run(visit: Visit): Promise<StepOutcome>;
}

export interface OAuthClientFacts {
  readonly id: string;
  readonly secret?: string;
}

/** A code, and what its exchange needs. */
export interface GrantedCode {
  readonly code: string;
  readonly verifier: string;
  readonly redirectUri: string;
}

export class Visit {
  readonly options: DoctorOptions;
  readonly secrets: SecretMask;
  /** Conversations that could be opened, the modern one first. */
  readonly talks: Talk[] = [];
  /** Answers to the first request of each era. */
  readonly openings = new Map<Era, Opening>();
  /** The 401 or 403 of the first request. */
  refusal: PeerReply | undefined;
  challenge: Challenge | undefined;
  resource: ResourceFacts | undefined;
  server: ServerFacts | undefined;
  client: OAuthClientFacts | undefined;
  loopback: LoopbackRedirect | undefined;
  granted: GrantedCode | undefined;
  token: string | undefined;
  /** A process that was started and not used yet. */
  spare: Peer | undefined;
  readonly #peers: Peer[] = [];

  constructor(options: DoctorOptions) {
    this.options = options;
    this.secrets = secretsOf(options.target);
  }

  /** A connection of its own: to a URL with the token, if there is one; or to a new process. */
  async connect(): Promise<Peer | PeerFault> {
    const { spare } = this;
    this.spare = undefined;
    if (spare !== undefined) return spare;
    const peer = await connectTo(this.options.target, this.options.timeoutMs, this.secrets, this.token);
    if (!('finding' in peer)) this.#peers.push(peer);
    return peer;
  }

  /** A connection that a step has opened by itself. */
  adopt(peer: Peer): void {
    this.#peers.push(peer);
  }

  /** Ends every connection. Returns what went wrong. */
  async close(): Promise<string | undefined> {
    const problems = await Promise.all(this.#peers.splice(0).map((peer) => peer.close()));
    await this.loopback?.close();
    return problems.find((problem) => problem !== undefined);
  }
}

export function secretsOf(target: Target): SecretMask {
  const secrets = new SecretMask();
  if (target.kind === 'http')
    for (const [name, value] of Object.entries(target.headers)) secrets.addHeader(name, value);
  return secrets;
}

export function connectTo(
  target: Target,
  timeoutMs: number,
  secrets: SecretMask,
  token?: string,
): Promise<HttpPeer | StdioPeer | PeerFault> {
  if (target.kind === 'stdio') return StdioPeer.start({ ...target, timeoutMs, secrets });
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { ...target.headers, ...authorization };
  return Promise.resolve(new HttpPeer({ url: target.url, headers, timeoutMs, secrets }));
}

export function ok(detail: string): StepOutcome {
  return { state: 'ok', detail };
}

export function skipped(detail: string): StepOutcome {
  return { state: 'skipped', detail };
}

export function failed({ finding, detail, cure }: PeerFault, bytes?: Bytes): StepOutcome {
  return { state: 'failed', detail, finding, cure, ...(bytes && { bytes }) };
}
