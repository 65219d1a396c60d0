/** What the gateway runs on: one frozen value, made once from a file and never touched again. A reload makes another. */

import type { GuardSettings, IdentitySettings } from '../identity/settings.ts';
import type { BackendAuth } from '../oauth/client/settings.ts';
import type { AuthServerSettings } from '../oauth/server/settings.ts';
import type { AuditSettings } from '../observe/audit.ts';
import type { BackendProfile, FullProfile } from '../policy/profile.ts';
import type { RateSettings } from '../policy/rates.ts';
import type { PolicySettings } from '../policy/rules.ts';
import type { CallLimits, Limits } from './limits.ts';

export interface Config {
  /** Counts reloads. Every decision names the generation that made it. */
  readonly generation: number;
  /** The file, as the user named it or as it was found; `demo` where there was none. */
  readonly source: string;
  readonly listen: ListenConfig;
  readonly backends: readonly BackendConfig[];
  /** What is no MCP server and stands behind endpoints of its own kind. Their names and those of backends differ. */
  readonly services: readonly ServiceConfig[];
  readonly endpoints: readonly EndpointConfig[];
  readonly limits: Limits;
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly identity: IdentitySettings;
  /** Absent: everything is allowed. */
  readonly policy?: PolicySettings;
  readonly rates: readonly RateSettings[];
  /** Absent: nothing is recorded. */
  readonly audit?: AuditSettings;
  /** Absent: there is none here, and nothing of it is loaded. */
  readonly authServer?: AuthServerSettings;
  /** Where what must outlive the process is kept. Made when something needs it. */
  readonly store: { readonly dir: string };
  /** Whether the files that it was read from are looked at, and read again when they change. */
  readonly watch: boolean;
  /** What seals states and cursors. Without a key the process makes one, and sealed values die with it. */
  readonly seal: { readonly key?: string };
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof logFormats)[number];

export interface ListenConfig {
  readonly host: string;
  readonly port: number;
  /** Serialised origins (`https://app.example`). An `Origin` that is not among them is refused. */
  readonly allowedOrigins: readonly string[];
  /** Lower-case host names, with or without a port, that `Host` may carry besides the address we listen on. */
  readonly allowedHosts: readonly string[];
  /** The host of `identity.publicUrl`: a proxy in front passes it on in `Host`. */
  readonly publicHost?: string;
  /** Addresses or CIDR ranges of proxies whose `X-Forwarded-For` counts, for every limit by address, the log and the audit. */
  readonly trustedProxies: readonly string[];
  /** Explicit leave to bind an address that others can reach although nobody is asked who they are. */
  readonly openToNetwork: boolean;
}

export type BackendConfig = StdioBackendConfig | HttpBackendConfig;

export interface StdioBackendConfig {
  readonly kind: 'stdio';
  readonly name: string;
  /** Where it departs from the limits of all. */
  readonly limits?: CallLimits;
  /** What it is let do, where that is not everything. */
  readonly profile?: BackendProfile;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. Absent: the gateway's own. */
  readonly cwd?: string;
  /** Name or number of the user that its processes run as. Absent: the gateway's own. */
  readonly user?: string;
  /** One process for everybody, instead of one for each client session. */
  readonly share: boolean;
  readonly maxProcesses: number;
  readonly idleMs: number;
  /** What a process keeps between the calls of a session. `none`: it may be given up as soon as it is idle. */
  readonly state: ProcessState;
}

export const processStates = ['session', 'none'] as const;
export type ProcessState = (typeof processStates)[number];

export interface HttpBackendConfig {
  readonly kind: 'http';
  readonly name: string;
  /** Where it departs from the limits of all. */
  readonly limits?: CallLimits;
  /** What it is let do, where that is not everything. */
  readonly profile?: BackendProfile;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly transport: HttpTransport;
  /** How leave is got there. Absent: by `headers` alone. */
  readonly auth?: BackendAuth;
}

export const httpTransports = ['auto', 'streamable-http', 'sse'] as const;
export type HttpTransport = (typeof httpTransports)[number];

/** A service that speaks JSON-RPC 2.0 over HTTP. */
export interface ServiceConfig {
  readonly name: string;
  /** Where it departs from the limits of all. */
  readonly limits?: CallLimits;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface EndpointConfig {
  /** Absent: MCP. */
  readonly protocol?: 'json-rpc';
  /** Percent-encoded, as it stands in a request line. */
  readonly path: string;
  /** Names of `backends`, in the order in which they were given. */
  readonly backends: readonly string[];
  readonly profile: FullProfile;
  /** How a denial is told. */
  readonly denials: DenialStyle;
  /** `optional` serves legacy requests without a session id as one-offs that can't be asked anything. */
  readonly sessions: 'required' | 'optional';
  /** Whether things get new names where several backends stand behind the endpoint. */
  readonly names: NamingSetting;
  /** What it asks of its callers. Never absent, so that no endpoint is open because somebody forgot. */
  readonly identity: GuardSettings;
  /** Where this endpoint departs from the specification because its owner said so. For the start-up message. */
  readonly deviations: readonly string[];
}

/** `error`: as a JSON-RPC error; `http403`: the same with the status of HTTP; `hide`: as what does not exist. */
export const denialStyles = ['error', 'http403', 'hide'] as const;
export type DenialStyle = (typeof denialStyles)[number];

/** `collision` renames only what several backends call by the same name; with `never` such things can't be reached here at all. */
export const namings = ['always', 'collision', 'never'] as const;
export type NamingSetting = (typeof namings)[number];

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
