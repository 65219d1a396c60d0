/** Whatever is presented: a principal that it proves, or a failure with a name; never an exception, never in. */
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { Failure, type Reason } from '../../src/errors/failure.ts';
import { audienceClaim, audiences, canonicalAudience, checkAudience } from '../../src/identity/audience.ts';
import { type RefusedRequest, refusalOf } from '../../src/identity/challenge.ts';
import { findCredential, withoutKey } from '../../src/identity/credentials.ts';
import { Identity } from '../../src/identity/identify.ts';
import { addKey } from '../../src/identity/key-book.ts';
import { readKeyFile, writeKeyFile } from '../../src/identity/key-file.ts';
import { Keys } from '../../src/identity/keys.ts';
import { TokenVerifiers } from '../../src/identity/tokens.ts';
import { awkwardJson, awkwardText, holds } from '../wire/property.ts';
import {
  bearer,
  carrying,
  guarded,
  issuerSettings,
  resource,
  type Signer,
  sign,
  signer,
  TestIssuer,
} from './support.ts';

const seed = Number(process.env.BASCULE_SEED ?? 20260728);
const wireStatuses = [400, 401, 403];

let by: Signer;
let issuer: TestIssuer;
let identity: Identity;
let key: string;
let token: string;

beforeAll(async () => {
  by = await signer('one');
  issuer = new TestIssuer(by);
  const { time, outside, warn } = issuer;
  const made = addKey(undefined, { name: 'bob', scopes: [] }, { bytes: randomBytes, now: () => time.now() });
  key = made.key;
  const keys = new Keys({ file: { stamp: () => '1', read: () => writeKeyFile(made.file) }, time, warn });
  identity = new Identity({ keys, tokens: new TokenVerifiers([issuerSettings()], outside, warn) });
  token = await issuer.sign();
});

const guard = guarded({ keyHeader: 'x-access-key', keyQuery: 'key' });

/** Bytes as Node hands them over. */
const latin1 = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const refused: fc.Arbitrary<RefusedRequest> = fc.record({
  kind: fc.constantFrom('request', 'unreadable', 'other'),
  host: awkwardText,
  path: awkwardText,
  operation: fc.record({ method: awkwardText, tool: awkwardText }),
});

function expectRefusal(outcome: unknown, about: RefusedRequest): void {
  expect(outcome).toBeInstanceOf(Failure);
  const { status, headers } = refusalOf(outcome as Failure, guard, about);
  expect(wireStatuses).toContain(status);
  expect(headers['WWW-Authenticate']).toMatch(/^Bearer [\x20-\x7e]+$/);
}

describe('access is denied with', () => {
  test('any headers and any address', async () => {
    const name = fc.oneof(fc.constantFrom('authorization', 'Authorization', 'x-access-key', 'X-ACCESS-KEY'), latin1);
    const value = fc.oneof(
      latin1,
      latin1.map((text) => `Bearer ${text}`),
      fc.base64String().map((text) => `bearer ${text}`),
    );
    const headers = fc.array(fc.tuple(name, value), { maxLength: 4 });
    const url = fc.oneof(
      fc.constant('/mcp'),
      latin1.map((text) => `/mcp?key=${text}`),
      latin1,
    );
    await fc.assert(
      fc.asyncProperty(headers, url, refused, async (pairs, address, about) => {
        expectRefusal(await identity.identify(carrying(pairs, address), guard), about);
        const stripped = carrying([], withoutKey(address, 'key'));
        expect(findCredential(stripped, guard)).toEqual({ kind: 'none' });
      }),
      { seed, numRuns: 600 },
    );
  });

  test('a valid token or key with any change', async () => {
    const place = fc.nat(2000);
    const change = fc.constantFrom('A', 'b', '0', '.', '-', '_', '=', '');
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('token', 'key'), place, change, refused, async (which, at, to, about) => {
        const good = which === 'token' ? token : key;
        const spot = at % good.length;
        const changed = `${good.slice(0, spot)}${to}${good.slice(spot + 1)}`;
        if (sameBytes(changed, good)) return;
        expectRefusal(await identity.identify(bearer(changed), guard), about);
      }),
      { seed, numRuns: 400 },
    );
  });

  test('parts that are each any JSON, or not JSON', async () => {
    const part = fc.oneof(
      awkwardJson.map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
      fc.base64String().map((text) => text.replaceAll(/[+/=]/g, '_')),
      fc.constant(''),
    );
    const parts = fc.array(part, { minLength: 1, maxLength: 6 }).map((all) => all.join('.'));
    await fc.assert(
      fc.asyncProperty(parts, refused, async (text, about) => {
        expectRefusal(await identity.identify(bearer(text), guard), about);
      }),
      { seed, numRuns: 400 },
    );
  });
});

test('claims of any kind, rightly signed, give a principal or a named failure', async () => {
  const odd = fc.oneof(awkwardJson, fc.constant(undefined), fc.webUrl());
  const claims = fc.record({
    aud: odd,
    sub: odd,
    client_id: odd,
    scope: odd,
    scp: odd,
    cnf: odd,
    nbf: odd,
    extra: odd,
  });
  const reasons: Reason[] = ['audience_mismatch', 'audience_missing', 'token_invalid', 'token_expired'];
  await fc.assert(
    fc.asyncProperty(claims, async (more) => {
      const outcome = await identity.identify(bearer(await sign(by, issuer.claims(more))), guard);
      if (outcome instanceof Failure) expect(reasons).toContain(outcome.reason);
      else expect(JSON.stringify(more.aud)).toContain(resource);
    }),
    { seed, numRuns: 300 },
  );
});

describe('audiences', () => {
  const ours = audiences([resource]);

  test('of any kind are accepted or rejected', () => {
    holds(
      fc.property(fc.oneof(awkwardJson, fc.webUrl(), latin1), (aud) => {
        expect([undefined, 'audience_missing', 'audience_mismatch']).toContain(
          checkAudience(audienceClaim(aud), { ours, mayBeAbsent: false })?.reason,
        );
      }),
    );
  });

  test('have a canonical form that is its own', () => {
    holds(
      fc.property(fc.webUrl({ withQueryParameters: true }), (url) => {
        const canonical = canonicalAudience(url);
        if (canonical === undefined) return;
        const again = canonicalAudience(canonical);
        // But for paths that end in several slashes, of which each time one is ignored.
        if (!/\/(?:$|\?)/.test(canonical)) expect(again).toBe(canonical);
      }),
    );
  });
});

test('any text is a key file or is refused as one', () => {
  holds(
    fc.property(
      fc.oneof(
        awkwardText,
        awkwardJson.map((value) => JSON.stringify(value)),
      ),
      (text) => {
        expect(() => readKeyFile(text)).toThrow(expect.objectContaining({ name: 'ListFileError' }));
      },
    ),
  );
});

/** The last character of a part has bits that mean nothing; a token that differs only there is the same token. */
function sameBytes(one: string, other: string): boolean {
  const bytes = (text: string) => text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'));
  return one === other || (!one.startsWith('bsc_') && bytes(one).join('.') === bytes(other).join('.'));
}
