/** People of a company's provider: how long they go on without it, and what ends them. */
import { describe, expect, it } from 'vitest';
import { SingleFlight } from '../../../src/oauth/client/single-flight.ts';
import type { Refreshed } from '../../../src/oauth/openid/provider.ts';
import { CompanyPeople } from '../../../src/oauth/server/company/people.ts';
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

function people() {
  const time = new TestTime();
  const records = new MemoryRecords(time.now);
  const flights = new SingleFlight({ lease: new RecordLease(records, time.now), bus: new MemoryBus(), time });
  const asked: string[] = [];
  const answers: { refresh: (token: string) => Promise<Refreshed> } = { refresh: async () => ({ claims }) };
  const provider = {
    refresh: (token: string) => {
      asked.push(token);
      return answers.refresh(token);
    },
  };
  const known = new CompanyPeople(
    { settings, provider, flights, keptMs: 100 * HOUR },
    { time, records, warn: () => undefined },
  );
  return { known, time, asked, answers, seconds: () => Math.floor(time.now() / 1000) };
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
});
