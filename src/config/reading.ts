/** Shared by both dialects: the result of reading a file, and the test for disabled entries. */
import type { AuditSettings } from '../observe/audit.ts';
import type { RateSettings } from '../policy/rates.ts';
import type { PolicySettings } from '../policy/rules.ts';
import type { BackendConfig, EndpointConfig, LogFormat, LogLevel, ServiceConfig } from './config.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { Variables } from './expand.ts';
import type { IdentityReading } from './identity.ts';
import type { Limits } from './limits.ts';
import type { ListenDraft } from './listen.ts';

/** The result of reading a file; absent members have a default. */
export interface ConfigReading {
  readonly listen?: ListenDraft | undefined;
  readonly backends: readonly BackendConfig[];
  readonly services?: readonly ServiceConfig[] | undefined;
  readonly endpoints?: readonly EndpointConfig[] | undefined;
  readonly limits?: Limits | undefined;
  readonly log?: { readonly level?: LogLevel | undefined; readonly format?: LogFormat | undefined } | undefined;
  readonly watch?: boolean | undefined;
  readonly seal?: { readonly key?: string | undefined } | undefined;
  /** An absolute path. */
  readonly store?: { readonly dir?: string | undefined } | undefined;
  /** Absent if it is invalid and reported, or if the dialect has none. */
  readonly identity?: IdentityReading | undefined;
  readonly policy?: PolicySettings | undefined;
  readonly rates?: readonly RateSettings[] | undefined;
  readonly audit?: AuditSettings | undefined;
  readonly notices: readonly string[];
}

/** Read before the rest of an entry, which may be invalid while it is disabled. */
export function isDisabled(document: ConfigDocument, path: Path, variables: Variables): boolean {
  return [true, 'true'].includes(document.read([...path, 'disabled'], variables) as boolean | string);
}
