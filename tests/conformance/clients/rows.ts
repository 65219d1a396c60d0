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

const dpop = 'an extension that is not offered: tokens are bearer tokens';
const workload = 'an extension that is not offered: what the gateway shows in place of a secret it signs itself';
const notOffered: readonly Excuse[] = [
  ...['token-request-proof', 'dpop-auth-scheme', 'fresh-proof'].flatMap((check) =>
    ['auth/dpop', 'auth/dpop-nonce'].map((scenario) => ({
      scenario,
      message: `FAILURE sep-1932-client-${check}`,
      why: dpop,
    })),
  ),
  ...['as-nonce', 'rs-nonce'].map((check) => ({
    scenario: 'auth/dpop-nonce',
    message: `FAILURE sep-1932-client-${check}`,
    why: dpop,
  })),
  { scenario: 'auth/wif-jwt-bearer', message: 'FAILURE wif-assertion-verified', why: workload },
];

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
  {
    id: 'extensions',
    spec: '2026-07-28',
    scenarios: [
      'auth/client-credentials-basic',
      'auth/client-credentials-jwt',
      'auth/enterprise-managed-authorization',
      'auth/dpop',
      'auth/dpop-nonce',
      'auth/wif-jwt-bearer',
    ],
    excuses: notOffered,
  },
  {
    id: 'older-servers',
    spec: '2025-11-25',
    scenarios: ['auth/2025-03-26-oauth-metadata-backcompat', 'auth/2025-03-26-oauth-endpoint-fallback'],
    excuses: [],
  },
];
