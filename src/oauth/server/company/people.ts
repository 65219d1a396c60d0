/**
 * The people who have signed in at the provider. A refresh of our tokens asks the provider whether the person is still
 * known there; where it gave us no refresh token, our tokens end after half a day.
 */
import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { SingleFlight } from '../../client/single-flight.ts';
import type { IdentifiedPerson, OpenIdProvider } from '../../openid/provider.ts';
import { SignInError } from '../../openid/sign-in-error.ts';
import { TypedRecords } from '../../typed-records.ts';
import type { Directory } from '../directory.ts';
import { authServerLimits as limits } from '../limits.ts';
import type { AuthServerOutside } from '../ports.ts';
import { type AdmittedPerson, personIn } from './person.ts';
import type { CompanySettings } from './settings.ts';

const person = z.object({
  /** The provider that confirmed the person. Another one in the config knows nothing of them. */
  issuer: z.string(),
  shown: z.string(),
  groups: z.array(z.string()).readonly(),
  refreshToken: z.string().exactOptional(),
  /** When the provider last confirmed the person. */
  confirmedAt: z.number(),
  /** Tokens and sessions from before are not valid. In seconds. */
  notBefore: z.number(),
});
type Person = z.infer<typeof person>;

interface CompanyParts {
  readonly settings: CompanySettings;
  readonly provider: Pick<OpenIdProvider, 'refresh'>;
  /** A rotating refresh token is good for one request. */
  readonly flights: Pick<SingleFlight, 'once'>;
  readonly keptMs: number;
}

export class CompanyPeople implements Directory {
  readonly #parts: CompanyParts;
  readonly #outside: Pick<AuthServerOutside, 'time' | 'warn'>;
  readonly #records: TypedRecords<Person>;

  constructor(parts: CompanyParts, outside: Pick<AuthServerOutside, 'time' | 'warn' | 'records'>) {
    this.#parts = parts;
    this.#outside = outside;
    this.#records = new TypedRecords(outside.records, 'person', person);
  }

  /** The name of the person from now on. Rejects with a SignInError where the person is not admitted. */
  async admit({ claims, refreshToken }: IdentifiedPerson): Promise<string> {
    const admitted = personIn(claims, this.#parts.settings);
    // A refresh that was asked for before must not overwrite what this sign-in brings.
    const write = async () => this.#admit(admitted, refreshToken);
    return this.#parts.flights.once(flightOf(admitted.name), async () => undefined, write);
  }

  async #admit({ name, shown, groups }: AdmittedPerson, refreshToken: string | undefined): Promise<string> {
    const now = this.#outside.time.now();
    const before = await this.#find(name);
    // Some providers send a refresh token only the first time.
    const kept = refreshToken ?? before?.refreshToken;
    const notBefore = Math.min(before?.notBefore ?? 0, secondsOf(now));
    await this.#put(name, {
      ...{ issuer: this.#parts.settings.issuer, shown, groups, confirmedAt: now, notBefore },
      ...(kept && { refreshToken: kept }),
    });
    return name;
  }

  async isCurrent(name: string, since: number | undefined): Promise<boolean> {
    if (!isValid(await this.#find(name), since)) return false;
    // The library extends a session each time that it is used.
    return since === undefined || isRecent(since * 1000, this.#outside.time.now());
  }

  async mayRefresh(name: string, since: number | undefined): Promise<boolean> {
    const asked = this.#outside.time.now();
    const confirmed = async () => {
      const found = await this.#find(name);
      if (!isValid(found, since)) return false;
      // A session that is older than the token gave it.
      if (found.refreshToken === undefined) return isRecent(Math.min((since ?? 0) * 1000, found.confirmedAt), asked);
      return found.confirmedAt >= asked ? true : undefined;
    };
    return this.#parts.flights.once(flightOf(name), confirmed, () => this.#ask(name));
  }

  async groupsOf(name: string): Promise<readonly string[]> {
    return (await this.#find(name))?.groups ?? [];
  }

  async shownAs(name: string): Promise<string> {
    return (await this.#find(name))?.shown ?? name;
  }

  close(): void {
    // Nothing is watched.
  }

  async #ask(name: string): Promise<boolean> {
    const known = await this.#find(name);
    if (known?.refreshToken === undefined) return false;
    let { refreshToken, ...rest } = known;
    const now = this.#outside.time.now();
    try {
      const { claims } = await this.#parts.provider.refresh(refreshToken, async (next) => {
        refreshToken = next;
        await this.#put(name, { ...known, refreshToken });
      });
      const facts = claims === undefined ? known : personIn(claims, this.#parts.settings);
      if ('name' in facts && facts.name !== name) throw new SignInError('it sent another person', { refused: true });
      const { shown, groups } = facts;
      await this.#put(name, { ...rest, shown, groups, refreshToken, confirmedAt: now });
      return true;
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      this.#outside.warn('the provider did not confirm a person', { why: error.message });
      if (!error.refused) throw error;
      // From the next second on, because tokens count in whole seconds.
      await this.#put(name, { ...rest, notBefore: secondsOf(now) + 1 });
      return false;
    }
  }

  async #find(name: string): Promise<Person | undefined> {
    const found = (await this.#records.get(keyOf(name)))?.value;
    return found?.issuer === this.#parts.settings.issuer ? found : undefined;
  }

  #put(name: string, value: Person): Promise<void> {
    return this.#records.put(keyOf(name), value, this.#outside.time.now() + this.#parts.keptMs);
  }
}

function isRecent(confirmedAt: number, now: number): boolean {
  return confirmedAt + limits.unconfirmedMs > now;
}

function isValid(found: Person | undefined, since: number | undefined): found is Person {
  return found !== undefined && (since === undefined || since >= found.notBefore);
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}

function flightOf(name: string): string {
  return `person ${keyOf(name)}`;
}

/** Of a fixed length: a subject may be longer than a key may be. */
function keyOf(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}
