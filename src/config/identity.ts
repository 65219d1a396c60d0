/**
 * Who may call. `identity` at the top of the file applies to every endpoint, also to default endpoints and those added
 * later. An endpoint can override it, and is open only if it says `identity: none`.
 */

import { resolve } from 'node:path';
import { algorithms, type GuardedSettings, type GuardSettings, type IdentitySettings } from '../identity/settings.ts';
import type { AuthServerSettings } from '../oauth/server/settings.ts';
import type { TrustedCredentials } from '../policy/match.ts';
import { methods } from '../wire/methods.ts';
import { authServerFault, authServerSettings } from './authserver.ts';
import type { ListenConfig } from './config.ts';
import type { Complaint, ConfigDocument, Path } from './document.ts';
import type { Variables } from './expand.ts';
import {
  type EndpointIdentityDraft,
  endpointIdentityShape,
  type IdentityDraft,
  type IssuerDraft,
  identityShape,
} from './identity-shapes.ts';
import { check } from './issues.ts';
import { isLoopback } from './listen.ts';

export interface IdentityReading {
  readonly settings: IdentitySettings;
  /** For every endpoint without its own. */
  readonly guard: GuardSettings;
  readonly authServer?: AuthServerSettings;
}

const here: Path = ['identity'];
const none = 'none';

/** The result for a file without `identity`. */
export const withoutIdentity: IdentityReading = { settings: { issuers: [], implies: {} }, guard: { kind: 'open' } };

/** Undefined if it is invalid and reported. The gateway then does not start, so no endpoint is open because of it. */
export function readIdentity(
  document: ConfigDocument,
  directory: string,
  variables: Variables,
): IdentityReading | undefined {
  const value = document.read(here, variables);
  if (value === undefined || value === none) return withoutIdentity;
  const draft = check(document, here, value, identityShape);
  if (draft === undefined) return undefined;
  if (draft.keys === undefined && !takesTokens(draft)) {
    const expected = '`keys`, `issuers`, `authServer` or several of them; or `identity: none`';
    document.report(here, { message: 'nobody could get in: neither `keys` nor `issuers`', expected });
  }
  checkIssuers(document, draft.issuers ?? []);
  checkMethods(document, [...here, 'scopes', 'methods'], draft.scopes?.methods ?? {});
  if (draft.style === 'envelope' && takesTokens(draft)) refuseEnvelope(document, [...here, 'style']);
  const settings = settingsOf(draft, directory);
  const { authServer } = draft;
  return {
    settings,
    guard: defaultGuard(draft),
    ...(authServer === undefined ? {} : { authServer: authServerSettings(authServer, directory) }),
  };
}

export function callersOf({ keyFile, issuers }: IdentitySettings, authServer: unknown): TrustedCredentials {
  return { keys: keyFile !== undefined, issuers: issuers.length + (authServer === undefined ? 0 : 1) };
}

function takesTokens({ issuers, authServer }: IdentityDraft): boolean {
  return issuers !== undefined || authServer !== undefined;
}

function settingsOf(draft: IdentityDraft, directory: string): IdentitySettings {
  const { publicUrl, keys, issuers = [], scopes, local } = draft;
  return {
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(keys === undefined ? {} : { keyFile: resolve(directory, keys.file) }),
    issuers: issuers.map(({ jwksUri, introspection, signIn, ...issuer }) => ({
      issuer: issuer.issuer,
      ...(jwksUri === undefined ? {} : { jwksUri }),
      algorithms: issuer.algorithms ?? algorithms,
      clockToleranceMs: issuer.clockToleranceMs ?? CLOCK_TOLERANCE_MS,
      audienceCheckedByVerifier: issuer.audienceCheckedByVerifier ?? false,
      ...(introspection === undefined ? {} : { introspection }),
      ...(signIn === undefined ? {} : { signIn: signInOf(signIn) }),
    })),
    implies: scopes?.implies ?? {},
    ...(local?.scopes === undefined ? {} : { localScopes: local.scopes }),
  };
}

/** Machines with synchronized clocks agree within this. */
const CLOCK_TOLERANCE_MS = 30_000;

function defaultGuard(draft: IdentityDraft): GuardedSettings {
  const { keys, style = 'challenge', audiences = [], scopes } = draft;
  return {
    kind: 'guarded',
    keys: keys !== undefined,
    tokens: takesTokens(draft),
    style,
    ...(keys?.header === undefined ? {} : { keyHeader: keys.header }),
    ...(keys?.query === undefined ? {} : { keyQuery: keys.query }),
    audiences,
    scopes: { required: scopes?.required ?? [], methods: scopes?.methods ?? {}, tools: scopes?.tools ?? {} },
  };
}

/** The settings of one endpoint. `value` was read at `path`; undefined if the endpoint has none. */
export function readGuard(
  document: ConfigDocument,
  path: Path,
  value: unknown,
  identity: IdentityReading | undefined,
  protocol: 'mcp' | 'json-rpc' = 'mcp',
): GuardSettings {
  const usual = (identity ?? withoutIdentity).guard;
  if (value === undefined) return usual;
  if (value === none) return { kind: 'open' };
  const draft = check(document, path, value, endpointIdentityShape);
  if (draft === undefined || identity === undefined) return usual;
  if (usual.kind === 'open') {
    const expected = '`identity` at the top of the file, with the keys or issuers that this endpoint takes';
    document.reportKey(path, { message: 'there is no identity for this endpoint to depart from', expected });
    return usual;
  }
  // The methods of a service are unknown here.
  if (protocol === 'mcp') checkMethods(document, [...path, 'scopes', 'methods'], draft.scopes?.methods ?? {});
  return departing(document, path, draft, usual);
}

function departing(
  document: ConfigDocument,
  path: Path,
  draft: EndpointIdentityDraft,
  usual: GuardedSettings,
): GuardedSettings {
  const accept = draft.accept ?? (['keys', 'tokens'] as const).filter((kind) => usual[kind]);
  accept.forEach((kind, at) => {
    if (usual[kind]) return;
    const expected = `\`${kind === 'keys' ? 'keys' : 'issuers'}\` under \`identity\` at the top of the file`;
    document.report([...path, 'accept', at], { message: `there are no ${kind} to accept`, expected });
  });
  const { header = usual.keyHeader, query = usual.keyQuery } = draft.keys ?? {};
  const style = draft.style ?? usual.style;
  const tokens = accept.includes('tokens');
  if (style === 'envelope' && tokens) refuseEnvelope(document, [...path, 'style']);
  if (draft.keys !== undefined && !accept.includes('keys')) {
    const message = '`keys` means nothing here';
    document.reportKey([...path, 'keys'], { message, expected: 'it where `accept` has keys' });
  }
  return {
    kind: 'guarded',
    keys: accept.includes('keys'),
    tokens,
    style,
    ...(header === undefined ? {} : { keyHeader: header }),
    ...(query === undefined ? {} : { keyQuery: query }),
    audiences: draft.audiences ?? usual.audiences,
    scopes: { ...usual.scopes, ...given(draft.scopes ?? {}) },
  };
}

function signInOf({
  clientId,
  clientSecret,
}: {
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
}) {
  return { clientId, ...(clientSecret === undefined ? {} : { clientSecret }) };
}

function given<T extends object>(draft: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: Exclude<T[Key], undefined>;
  };
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling */
function refuseEnvelope(document: ConfigDocument, path: Path): void {
  document.report(path, {
    message: '`envelope` is not for tokens: what is wrong with them MUST be told by a 401',
    expected: '`challenge`; or `envelope` at an endpoint with `accept: [keys]`',
  });
}

function checkIssuers(document: ConfigDocument, issuers: readonly IssuerDraft[]): void {
  const at = (index: number, key: string): Path => [...here, 'issuers', index, key];
  issuers.forEach(({ issuer, introspection, jwksUri, algorithms: chosen }, index) => {
    if (issuers.findIndex((other) => other.issuer === issuer) < index) {
      document.report(at(index, 'issuer'), { message: 'this issuer is in the list already' });
    }
    if (introspection === undefined) return;
    if (issuers.findIndex((other) => other.introspection !== undefined) < index) {
      const expected = 'one alone: a token that nobody can read would have to be shown to all of them';
      document.reportKey(at(index, 'introspection'), { message: 'a second issuer with `introspection`', expected });
    }
    for (const key of ['jwksUri', 'algorithms'] as const) {
      if ((key === 'jwksUri' ? jwksUri : chosen) === undefined) continue;
      const expected = 'it at an issuer without `introspection`';
      document.reportKey(at(index, key), { message: `\`${key}\` means nothing here`, expected });
    }
  });
}

function checkMethods(document: ConfigDocument, path: Path, given: Readonly<Record<string, unknown>>): void {
  const known = methods.filter(({ kind, from }) => kind === 'request' && from !== 'server').map(({ method }) => method);
  for (const method of Object.keys(given)) {
    if (known.includes(method)) continue;
    const complaint = { message: `there is no method \`${method}\``, candidates: known, wrong: method };
    document.reportKey([...path, method], { ...complaint, expected: 'a method that clients call, such as tools/call' });
  }
}

/**
 * Tokens are issued for a URL, and a client cannot know it from the address that we listen on. Reported at `identity`.
 */
export function unreachable({ settings, authServer }: IdentityReading, { host }: ListenConfig): Complaint | undefined {
  if (authServer !== undefined && settings.publicUrl !== undefined) return authServerFault(settings.publicUrl);
  const takesNone = settings.issuers.length === 0 && authServer === undefined;
  if (takesNone || settings.publicUrl !== undefined || isLoopback(host)) return undefined;
  return {
    message: 'tokens are given for an address, and nobody said which one clients use',
    expected: '`publicUrl`, such as https://mcp.example.com',
  };
}
