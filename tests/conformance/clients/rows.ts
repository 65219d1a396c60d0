/** The kit's scenarios for clients (0.2.0-alpha.12), by revision. Scenarios are counted, never checks. */
import type { Excuse, SpecVersion } from '../rows.ts';

const both = [
  'tools_call',
  'auth/metadata-default',
  'auth/metadata-var1',
  'auth/metadata-var2',
  'auth/metadata-var3',
  'auth/basic-cimd',
  'auth/scope-from-www-authenticate',
  'auth/scope-from-scopes-supported',
  'auth/scope-omitted-when-undefined',
  'auth/scope-step-up',
  'auth/scope-retry-limit',
  'auth/token-endpoint-auth-basic',
  'auth/token-endpoint-auth-post',
  'auth/token-endpoint-auth-none',
  'auth/pre-registration',
  'json-schema-2020-12-preservation',
] as const;

export interface ClientRow {
  readonly id: string;
  readonly spec: SpecVersion;
  readonly scenarios: readonly string[];
  /** What cannot be had, and why. One that is no longer needed is a deviation itself. */
  readonly excuses: readonly Excuse[];
}

export const ROWS: readonly ClientRow[] = [
  {
    id: '2025-11-25',
    spec: '2025-11-25',
    scenarios: ['initialize', 'elicitation-sep1034-client-defaults', 'sse-retry', ...both],
    excuses: [],
  },
  {
    id: '2026-07-28',
    spec: '2026-07-28',
    scenarios: [
      ...both,
      'request-metadata',
      'auth/resource-mismatch',
      'auth/offline-access-scope',
      'auth/offline-access-not-supported',
      'auth/authorization-server-migration',
      'auth/iss-supported',
      'auth/iss-not-advertised',
      'auth/iss-supported-missing',
      'auth/iss-wrong-issuer',
      'auth/iss-unexpected',
      'auth/iss-normalized',
      'auth/metadata-issuer-mismatch',
      'sep-2322-client-request-state',
      'http-standard-headers',
      'http-custom-headers',
      'http-invalid-tool-headers',
      'json-schema-ref-no-deref',
    ],
    excuses: [],
  },
];
