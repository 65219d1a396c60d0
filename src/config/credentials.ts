/** How the gateway authenticates to a backend: `auth` beside its `url`. */
import type { BackendAuth, GrantType } from '../oauth/client/settings.ts';
import { type BackendAuthDraft, backendAuthShape } from './credentials-shapes.ts';
import type { ConfigDocument, Path } from './document.ts';
import type { Variables } from './expand.ts';
import { check } from './issues.ts';

type AuthKey = keyof BackendAuthDraft;

/** The keys that each grant requires. */
const needs: Readonly<Record<GrantType, readonly AuthKey[]>> = {
  authorization_code: [],
  client_credentials: ['clientId'],
  // The caller's token is sent to that server, so the backend must not choose it.
  token_exchange: ['issuer'],
  identity_assertion: ['issuer', 'clientId', 'identityProvider'],
};

/** Keys that apply to one grant only. */
const only: Readonly<Partial<Record<AuthKey, GrantType>>> = {
  audience: 'token_exchange',
  identityProvider: 'identity_assertion',
};

/** `path` is that of the key `auth`. Undefined if the key is absent, or invalid and reported. */
export function readBackendAuth(document: ConfigDocument, path: Path, variables: Variables): BackendAuth | undefined {
  const value = document.read(path, variables);
  if (value === undefined) return undefined;
  const draft = check(document, path, value, backendAuthShape);
  if (draft === undefined) return undefined;
  checkGrant(document, path, draft);
  checkClient(document, path, draft);
  checkHeaders(document, path);
  const { type: _type, ...auth } = draft;
  return auth;
}

function checkGrant(document: ConfigDocument, path: Path, draft: BackendAuthDraft): void {
  const { grant } = draft;
  for (const key of needs[grant]) {
    if (draft[key] !== undefined) continue;
    document.report([...path, key], {
      message: `\`${key}\` is missing`,
      expected: `\`${key}\`, which \`grant: ${grant}\` requires`,
    });
  }
  for (const [key, with_] of Object.entries(only)) {
    if (draft[key as AuthKey] === undefined || grant === with_) continue;
    document.reportMeaningless([...path, key], `with \`grant: ${with_}\``);
  }
  if (draft.shared === true && (grant === 'token_exchange' || grant === 'identity_assertion')) {
    const message = 'a token that is derived from one caller’s token cannot be shared with others';
    document.report([...path, 'shared'], { message, expected: '`shared` with another grant' });
  }
}

function checkClient(document: ConfigDocument, path: Path, draft: BackendAuthDraft): void {
  const { grant, clientId, clientSecret, privateKey, clientMetadataUrl } = draft;
  if (clientId === undefined) {
    for (const key of ['clientSecret', 'privateKey'] as const) {
      if (draft[key] !== undefined) document.reportMeaningless([...path, key], 'beside `clientId`');
    }
  } else if (clientMetadataUrl !== undefined) {
    document.reportMeaningless([...path, 'clientMetadataUrl'], 'without `clientId`');
  }
  if (clientSecret !== undefined && privateKey !== undefined) {
    const message = 'both `clientSecret` and `privateKey`';
    document.reportKey([...path, 'privateKey'], {
      message,
      expected: 'one of them: a client authenticates in one way',
    });
  }
  const cannotProve = clientId !== undefined && clientSecret === undefined && privateKey === undefined;
  if (grant === 'client_credentials' && cannotProve) {
    const expected = '`clientSecret` or `privateKey`: with this grant the client must authenticate';
    document.report(path, { message: 'neither `clientSecret` nor `privateKey`', expected });
  }
}

/** With two `Authorization` headers, it is undefined which one the backend reads. */
function checkHeaders(document: ConfigDocument, path: Path): void {
  const headers = [...path.slice(0, -1), 'headers'];
  for (const name of document.keys(headers) ?? []) {
    if (name.toLowerCase() !== 'authorization') continue;
    const message = 'both `auth` and an `Authorization` header';
    document.reportKey([...headers, name], { message, expected: 'one of them' });
  }
}
