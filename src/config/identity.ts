/**
 * Who may call. `identity` at the top of the file applies to every endpoint, also to default endpoints and those added
 * later. An endpoint can override it, and is open only if it says `identity: none`.
 */

import { resolve } from 'node:path';
import type { GuardedSettings, GuardSettings, IdentitySettings } from '../identity/settings.ts';
import { isLoopbackHost } from '../oauth/fetch/addresses.ts';
import type { AuthServerSettings } from '../oauth/server/settings.ts';
import type { TrustedCredentials } from '../policy/match.ts';
import { methods } from '../wire/methods.ts';
import { authServerFault, authServerIn } from './authserver.ts';
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
  const draft = check(document, here, value, identityShape());
  if (draft === undefined) return undefined;
  if (draft.keys === undefined && !takesTokens(draft)) {
    document.report(here, {
      message: 'no credentials would be accepted: neither `keys` nor `issuers` is set',
      expected: '`keys`, `issuers` or `authServer`, or several of them; or `identity: none`',
    });
  }
  checkIssuers(document, draft.issuers ?? []);
  checkMethods(document, [...here, 'scopes', 'methods'], draft.scopes?.methods ?? {});
  if (draft.style === 'envelope' && takesTokens(draft)) refuseEnvelope(document, [...here, 'style']);
  const { publicUrl, keys, issuers = [], scopes, local, authServer } = draft;
  return {
    settings: {
      ...(publicUrl !== undefined && { publicUrl }),
      ...(keys !== undefined && { keyFile: resolve(directory, keys.file) }),
      issuers,
      implies: scopes?.implies ?? {},
      ...(local?.scopes !== undefined && { localScopes: local.scopes }),
    },
    guard: defaultGuard(draft),
    ...(authServer !== undefined && {
      authServer: authServerIn(authServer, directory, (complaint) =>
        document.report([...here, 'authServer'], complaint),
      ),
    }),
  };
}

export function callersOf({ keyFile, issuers }: IdentitySettings, authServer: unknown): TrustedCredentials {
  return { keys: keyFile !== undefined, issuers: issuers.length + (authServer === undefined ? 0 : 1) };
}

function takesTokens({ issuers, authServer }: IdentityDraft): boolean {
  return issuers !== undefined || authServer !== undefined;
}

function defaultGuard(draft: IdentityDraft): GuardedSettings {
  const { keys, style = 'challenge', audiences = [], scopes } = draft;
  return {
    kind: 'guarded',
    keys: keys !== undefined,
    tokens: takesTokens(draft),
    style,
    ...keyPlaces(keys ?? {}),
    audiences,
    scopes: { required: scopes?.required ?? [], methods: scopes?.methods ?? {}, tools: scopes?.tools ?? {} },
  };
}

function keyPlaces({ header, query }: NonNullable<EndpointIdentityDraft['keys']>) {
  return { ...(header !== undefined && { keyHeader: header }), ...(query !== undefined && { keyQuery: query }) };
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
  const draft = check(document, path, value, endpointIdentityShape());
  if (draft === undefined || identity === undefined) return usual;
  if (usual.kind === 'open') {
    document.reportKey(path, {
      message: 'there is no `identity` at the top of the file that this endpoint could change',
      expected: '`identity` at the top of the file, with the keys or issuers that this endpoint accepts',
    });
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
  const style = draft.style ?? usual.style;
  const tokens = accept.includes('tokens');
  if (style === 'envelope' && tokens) refuseEnvelope(document, [...path, 'style']);
  if (draft.keys !== undefined && !accept.includes('keys')) {
    document.reportMeaningless([...path, 'keys'], 'where `accept` has keys');
  }
  return {
    ...usual,
    keys: accept.includes('keys'),
    tokens,
    style,
    ...keyPlaces(draft.keys ?? {}),
    audiences: draft.audiences ?? usual.audiences,
    scopes: { ...usual.scopes, ...draft.scopes },
  };
}

/** https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#token-handling */
function refuseEnvelope(document: ConfigDocument, path: Path): void {
  document.report(path, {
    message: '`envelope` does not work with tokens: their errors MUST be reported with status 401',
    expected: '`challenge`; or `envelope` at an endpoint with `accept: [keys]`',
  });
}

function checkIssuers(document: ConfigDocument, issuers: readonly IssuerDraft[]): void {
  const at = (index: number, key: string): Path => [...here, 'issuers', index, key];
  issuers.forEach(({ issuer, introspection }, index) => {
    if (issuers.findIndex((other) => other.issuer === issuer) < index) {
      document.report(at(index, 'issuer'), { message: 'this issuer is in the list already' });
    }
    if (introspection === undefined) return;
    if (issuers.findIndex((other) => other.introspection !== undefined) < index) {
      const expected = 'one issuer with `introspection`: an opaque token would have to be sent to all of them';
      document.reportKey(at(index, 'introspection'), { message: 'a second issuer with `introspection`', expected });
    }
    for (const key of document.keys([...here, 'issuers', index]) ?? []) {
      if (key !== 'jwksUri' && key !== 'algorithms') continue;
      document.reportMeaningless(at(index, key), 'at an issuer without `introspection`');
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
export function unreachable(
  { settings, authServer }: IdentityReading,
  { host, socket }: ListenConfig,
): Complaint | undefined {
  if (authServer !== undefined && settings.publicUrl !== undefined) return authServerFault(settings.publicUrl);
  const takesNone = settings.issuers.length === 0 && authServer === undefined;
  if (takesNone || settings.publicUrl !== undefined) return undefined;
  if (socket === undefined && isLoopbackHost(host)) return undefined;
  return {
    message: 'tokens are issued for a URL, and the config does not say which URL clients use',
    expected: '`publicUrl`, such as https://mcp.example.com',
  };
}
