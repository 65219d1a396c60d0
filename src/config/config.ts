/** The config: one frozen value, made once from a file and never changed. A reload makes a new one. */

import type { BackendOverrides } from '../catalog/overrides/settings.ts';
import type { GuardSettings, IdentitySettings } from '../identity/settings.ts';
import type { BackendAuth } from '../oauth/client/settings.ts';
import type { AuthServerSettings } from '../oauth/server/settings.ts';
import type { AuditSettings } from '../observe/audit.ts';
import type { TraceSending, TraceSettings, TraceTrust } from '../observe/traces/settings.ts';
import type { PinSettings } from '../pins/ports.ts';
import type { BackendProfile, FullProfile } from '../policy/profile.ts';
import type { RateSettings } from '../policy/rates.ts';
import type { RecordingSettings } from '../policy/recorded-request.ts';
import type { PolicySettings } from '../policy/rules.ts';
import type { ExtensionChoices } from '../wire/extensions.ts';
import type { ConsoleRights, ConsoleSettings } from './console.ts';
import type { CallLimits, Limits } from './limits.ts';
import type { MetricsConfig } from './metrics.ts';
import type { ProxyConfig } from './proxy.ts';

export interface Config {
  /** Counts reloads. Every decision names its generation. */
  readonly generation: number;
  /** The file as the user named it or as it was found; `demo` if there is no file. */
  readonly source: string;
  readonly listen: ListenConfig;
  readonly backends: readonly BackendConfig[];
  /**
   * JSON-RPC services that are not MCP servers. They have their own endpoints; their names differ from those of
   * backends.
   */
  readonly services: readonly ServiceConfig[];
  readonly endpoints: readonly EndpointConfig[];
  /** Names of backends that the file has and that are disabled. */
  readonly disabled: readonly string[];
  readonly limits: Limits;
  readonly log: LogConfig;
  /** Absent: metrics are neither recorded nor served. */
  readonly metrics?: MetricsConfig;
  readonly identity: IdentitySettings;
  /** Absent: everything is allowed. */
  readonly policy?: PolicySettings;
  readonly rates: readonly RateSettings[];
  /** Absent: nothing is recorded. */
  readonly audit?: AuditSettings;
  /** Absent: nothing is recorded for rehearsals of a policy. */
  readonly rehearsal?: RecordingSettings;
  /** Absent: nothing is pinned, and what judges pins is not loaded. */
  readonly pins?: PinSettings;
  /** Absent: no traces, and their library is not loaded. */
  readonly traces?: TraceSettings;
  /** Absent: the authorization server is off, and its library is not loaded. */
  readonly authServer?: AuthServerSettings;
  /** Absent: backends cannot be reached under their own addresses. */
  readonly proxy?: ProxyConfig;
  /** Absent: there is no console. */
  readonly console?: ConsoleSettings;
  /** Who may do what in the console. */
  readonly operators: ConsoleRights;
  readonly store: StoreConfig;
  /** Absent: no other machine serves this gateway. */
  readonly replicas?: ReplicasConfig;
  /** Whether to watch the config's files and reload when they change. */
  readonly watch: boolean;
  /**
   * The key that seals states, cursors and session ids. Without one the process makes its own for states and cursors,
   * which do not survive it then; that of session ids is in the store. `previous`: keys whose session ids are still
   * accepted.
   */
  readonly seal: { readonly key?: string; readonly previous?: readonly string[] };
  /** Which gateway this is, where several processes are one. Without a name: by its config file and address. */
  readonly instance: { readonly name?: string };
}

export interface StoreConfig {
  /** The directory for state that must outlive the process. Created when it is first needed. */
  readonly dir: string;
  /** Redis or Valkey, for state that several processes share. Absent: none, and its library is not loaded. */
  readonly url?: string;
  /** Further nodes of the cluster. Absent: a single server. */
  readonly cluster?: readonly string[];
  /** The beginning of all keys there. */
  readonly prefix?: string;
}

/** Where other processes of the same gateway reach this one. */
export interface ReplicasConfig {
  readonly listen: { readonly host: string; readonly port: number };
  /** `host:port` as the others use it. Absent: `advertisedHost` and the port of `listen`. */
  readonly advertise?: string;
  readonly advertisedHost?: string;
}

export interface LogConfig {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** One line for each message of a client. */
  readonly requests: boolean;
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof logFormats)[number];

export interface ListenConfig {
  readonly host: string;
  readonly port: number;
  /** In place of `host` and `port`, which are those of this machine then. */
  readonly socket?: ListenSocket;
  /** Absent: HTTP without TLS. */
  readonly tls?: ListenTls;
  /** Serialized origins (`https://app.example`). Any other `Origin` is refused. */
  readonly allowedOrigins: readonly string[];
  /** Lower-case host names, with or without a port, that `Host` may name besides the address that we listen on. */
  readonly allowedHosts: readonly string[];
  /** The host of `identity.publicUrl`: a proxy in front of us passes it in `Host`. */
  readonly publicHost?: string;
  /**
   * Addresses or CIDR ranges of proxies whose `X-Forwarded-For` is trusted, for limits by address, the log and the
   * audit.
   */
  readonly trustedProxies: readonly string[];
  /** Explicit permission to listen on an address that others can reach without authentication. */
  readonly openToNetwork: boolean;
}

/** A Unix socket. Who may connect is what the rights of the file say. */
export interface ListenSocket {
  readonly path: string;
  readonly mode: number;
}

/** Absolute paths of PEM files, which are read again when they change. */
export interface ListenTls {
  /** The certificate, and those of the authorities between it and the root. */
  readonly cert: string;
  readonly key: string;
  readonly minVersion: TlsVersion;
}

export const tlsVersions = ['TLSv1.2', 'TLSv1.3'] as const;
export type TlsVersion = (typeof tlsVersions)[number];

export type BackendConfig = StdioBackendConfig | HttpBackendConfig;

interface NamedBackend {
  readonly name: string;
  /** Overrides of the common limits. */
  readonly limits?: CallLimits;
  /** Restrictions. Absent: none. */
  readonly profile?: BackendProfile;
  /** Whether its messages carry trace context, where traces are configured. Absent: they do. */
  readonly traces?: TraceSending;
}

export interface StdioBackendConfig extends NamedBackend {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** An absolute path. Absent: the gateway's own directory. */
  readonly cwd?: string;
  /** Name or number of the user that its processes run as. Absent: the gateway's own user. */
  readonly user?: string;
  /** Absent: its processes may do what their user may. */
  readonly sandbox?: SandboxConfig;
  /** One process for all clients, instead of one for each client session. */
  readonly share: boolean;
  readonly maxProcesses: number;
  readonly idleMs: number;
  /** The state that a process keeps between the calls of a session. `none`: it may be ended as soon as it is idle. */
  readonly state: ProcessState;
}

/** What the processes of a stdio backend see and may use. Paths are absolute. */
export interface SandboxConfig {
  readonly network: boolean;
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** Of each process with everything that it starts. Absent: no limit. */
  readonly memoryBytes?: number;
  /** Threads count. Absent: no limit. */
  readonly processes?: number;
}

export const processStates = ['session', 'none'] as const;
export type ProcessState = (typeof processStates)[number];

export interface HttpBackendConfig extends NamedBackend, ServiceConfig {
  readonly kind: 'http';
  readonly transport: HttpTransport;
  /** How the gateway authenticates to the backend. Absent: by `headers` alone. */
  readonly auth?: BackendAuth;
  /** Each client presents its own credentials, through the proxy. Absent: the gateway's are used. */
  readonly credentials?: 'client';
}

export const httpTransports = ['auto', 'streamable-http', 'sse'] as const;
export type HttpTransport = (typeof httpTransports)[number];

/** A service that speaks JSON-RPC 2.0 over HTTP. */
export interface ServiceConfig extends Omit<NamedBackend, 'profile' | 'traces'> {
  readonly url: string;
  /** The absolute path of a Unix socket: connections go there, whatever host `url` names. */
  readonly socket?: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface EndpointConfig {
  /** Absent: MCP. */
  readonly protocol?: 'json-rpc';
  /** Percent-encoded, as in a request line. */
  readonly path: string;
  /** Names of `backends`, in the order of the file. */
  readonly backends: readonly string[];
  readonly profile: FullProfile;
  /** How a denial is reported. */
  readonly denials: DenialStyle;
  /**
   * `optional` serves legacy requests without a session id as single requests, during which no server request is
   * possible.
   */
  readonly sessions: 'required' | 'optional';
  /** Whether tools and other items are renamed if the endpoint has several backends. */
  readonly names: NamingSetting;
  /** The required authentication. Never absent, so that no endpoint is open by omission. */
  readonly identity: GuardSettings;
  /** What becomes of clients' trace context. Absent: authenticated clients are parents, others are linked to. */
  readonly traces?: TraceTrust;
  /** What is said of extensions, here or for all endpoints. Absent: nothing. */
  readonly extensions?: ExtensionChoices;
  /** What is changed of tools and prompts, here or for all endpoints of a backend. Absent: nothing. */
  readonly overrides?: readonly BackendOverrides[];
  /** How much of its tools is listed, in tokens. Absent: all of it. */
  readonly budget?: { readonly tokens: number };
  /** The gateway waits for tasks in the place of modern clients without tasks. */
  readonly tasks?: 'poll';
  /** Where the config makes this endpoint deviate from the specification. For the start-up message. */
  readonly deviations: readonly string[];
}

export const protocols = ['mcp', 'json-rpc'] as const;

/** `error`: a JSON-RPC error; `http403`: the same with HTTP status 403; `hide`: as if the item did not exist. */
export const denialStyles = ['error', 'http403', 'hide'] as const;
export type DenialStyle = (typeof denialStyles)[number];

/**
 * `collision` renames only items that have the same name in several backends; with `never` such items cannot be
 * reached.
 */
export const namings = ['always', 'collision', 'never'] as const;
export type NamingSetting = (typeof namings)[number];

export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
