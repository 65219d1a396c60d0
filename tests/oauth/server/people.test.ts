/** People of a company's provider: how long they go on without it, and what ends them. */
import { describe, expect, it } from 'vitest';
import { SingleFlight } from '../../../src/oauth/client/single-flight.ts';
import type { OpenIdProvider, Refreshed } from '../../../src/oauth/openid/provider.ts';
import { SignInError } from '../../../src/oauth/openid/sign-in-error.ts';
import { CompanyPeople } from '../../../src/oauth/server/company/people.ts';
import { personIn } from '../../../src/oauth/server/company/person.ts';
import type { CompanySettings } from '../../../src/oauth/server/company/settings.ts';
import { MemoryBus } from '../../../src/store/memory.ts';
import { RecordLease } from '../../../src/store/record-lease.ts';
import { MemoryRecords } from '../../kit/memory-records.ts';
import { verifies } from '../../requirements/verifies.ts';
import { TestTime } from '../client/support.ts';

const HOUR = 3_600_000;
const settings: CompanySettings = {
  ...{ issuer: 'https://idp.example', clientId: 'bascule', name: 'Example Inc.', groupsClaim: 'groups' },
  ...{ parameters: {}, require: {} },
};
const claims = { iss: settings.issuer, sub: 'ada', aud: 'bascule', iat: 0, exp: 0 };
const ada = `${settings.issuer}#ada`;

type RefreshArguments = Parameters<OpenIdProvider['refresh']>;

function people() {
  const time = new TestTime();
  const records = new MemoryRecords(time.now);
  const flights = new SingleFlight({ lease: new RecordLease(records, time.now), bus: new MemoryBus(), time });
  const asked: string[] = [];
  const answers: { refresh: (...given: RefreshArguments) => Promise<Refreshed> } = {
    refresh: async () => ({ claims }),
  };
  const provider = {
    refresh: (...given: RefreshArguments) => {
      asked.push(given[0]);
      return answers.refresh(...given);
    },
  };
  const of = (changed: Partial<CompanySettings> = {}) =>
    new CompanyPeople(
      { settings: { ...settings, ...changed }, provider, flights, keptMs: 100 * HOUR },
      { time, records, warn: () => undefined },
    );
  return { known: of(), of, time, asked, answers, seconds: () => Math.floor(time.now() / 1000) };
}

describe('people of a provider', verifies('gateway:authserver:company'), () => {
  it('a token that was given late goes on for half a day from the sign-in, not from itself', async () => {
    const { known, time, seconds } = people();
    await known.admit({ claims });
    time.move(11 * HOUR);
    const since = seconds();
    expect(await known.mayRefresh(ada, since)).toBe(true);
    time.move(2 * HOUR);
    expect(await known.mayRefresh(ada, since)).toBe(false);
  });

  it('a sign-in during a refresh that is refused is kept, with its refresh token', async () => {
    const { known, answers, asked, time, seconds } = people();
    await known.admit({ claims, refreshToken: 'first' });
    const since = seconds();
    time.move(1_000);
    let refuse: () => void = () => undefined;
    const isAsked = new Promise<void>((resolve) => {
      answers.refresh = () =>
        new Promise((_resolve, reject) => {
          refuse = () => reject(new SignInError('no', { refused: true }));
          resolve();
        });
    });
    const refused = known.mayRefresh(ada, since);
    await isAsked;
    time.move(2_000);
    const admitted = known.admit({ claims, refreshToken: 'second' });
    refuse();
    expect(await refused).toBe(false);
    await admitted;
    answers.refresh = async () => ({ claims });
    time.move(1_000);
    expect(await known.mayRefresh(ada, since)).toBe(false);
    expect(await known.mayRefresh(ada, seconds())).toBe(true);
    expect(asked).toEqual(['first', 'second']);
  });

  it('the next refresh token is kept, although the rest of the refresh fails', async () => {
    const { known, answers, asked, time, seconds } = people();
    await known.admit({ claims, refreshToken: 'first' });
    const since = seconds();
    time.move(1_000);
    answers.refresh = async (_token, rotated) => {
      await rotated('second');
      throw new SignInError('its keys cannot be fetched');
    };
    await expect(known.mayRefresh(ada, since)).rejects.toThrow('its keys');
    answers.refresh = async () => ({ claims });
    expect(await known.mayRefresh(ada, since)).toBe(true);
    expect(asked).toEqual(['first', 'second']);
  });

  it('of another provider than the configured one are not known, and it is not asked about them', async () => {
    const { known, of, asked, seconds } = people();
    await known.admit({ claims, refreshToken: 'of the old provider' });
    const next = of({ issuer: 'https://other.example' });
    expect(await next.isCurrent(ada, seconds())).toBe(false);
    expect(await next.mayRefresh(ada, seconds())).toBe(false);
    expect(asked).toEqual([]);
  });
});

describe('an ID token', verifies('gateway:authserver:company'), () => {
  const refusalOf = (more: object, require: CompanySettings['require'] = {}) => {
    try {
      personIn({ ...claims, ...more }, { ...settings, require });
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it.each([
    ['more groups than are kept', { groups: Array.from({ length: 201 }, String) }],
    // OpenID Core, 5.6.2. Entra ID does so for people with more than 200 groups.
    ['groups that are somewhere else', { _claim_names: { groups: 'src1' }, _claim_sources: { src1: {} } }],
    ['groups, and more of them somewhere else', { groups: ['a'], _claim_names: { groups: 'src1' } }],
  ])('with %s is refused', (_name, more) => {
    expect(refusalOf(more)).toMatchObject({ name: 'SignInError', refused: true });
  });

  it.each([
    ['no claim', {}],
    ['null', { hd: null }],
    ['a map', { hd: { toString: 'x' } }],
    ['a list in a list', { hd: [['example.com']] }],
  ])('with %s has none of the required values', (_name, more) => {
    const require = { hd: ['example.com', 'undefined', 'null', '[object Object]'] };
    expect(refusalOf(more, require)).toMatchObject({ refused: true });
  });

  it.each([
    ['text', { hd: 'example.com' }],
    ['a list', { hd: ['x', 'example.com'] }],
    ['true', { hd: true }],
    ['a number', { hd: 7 }],
  ])('with %s has a required value', (_name, more) => {
    expect(refusalOf(more, { hd: ['example.com', 'true', '7'] })).toBeUndefined();
  });
});
