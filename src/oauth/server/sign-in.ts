/** Checks a name and a password. Neither the result nor its timing reveals which of the two was wrong. */
import { Attempts } from '../../web/attempts.ts';
import { authServerLimits as limits } from './limits.ts';
import { PasswordChecks } from './passwords.ts';
import { passwordChars } from './user-book.ts';
import { type User, userName } from './user-file.ts';
import type { Users } from './users.ts';

export type SignInResult =
  | { readonly kind: 'user'; readonly user: User }
  | { readonly kind: 'wrong' }
  /** Too many wrong passwords, or too many checks at once. */
  | { readonly kind: 'wait'; readonly ms: number };

export interface Tried {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

/** Retry delay when the queue is full. Each check takes a tenth of a second. */
const BUSY_MS = 5_000;

export class SignIn {
  readonly #users: Pick<Users, 'find'>;
  readonly #checks = new PasswordChecks();
  readonly #both: Attempts;
  readonly #byAddress: Attempts;
  readonly #byName: Attempts;

  constructor(users: Pick<Users, 'find'>, now: () => number) {
    this.#users = users;
    const attempts = (most: number) =>
      new Attempts({ most, withinMs: limits.failuresWithinMs, names: limits.countedNames }, now);
    this.#both = attempts(limits.failuresPerNameAndAddress);
    this.#byAddress = attempts(limits.failuresPerAddress);
    this.#byName = attempts(limits.failuresPerName);
  }

  async try({ name, password, address }: Tried): Promise<SignInResult> {
    const both = JSON.stringify([name.slice(0, passwordChars.most), address]);
    const wait = Math.max(
      this.#both.waitFor(both),
      this.#byAddress.waitFor(address),
      userName.test(name) ? this.#byName.waitFor(name) : 0,
    );
    if (wait > 0) return { kind: 'wait', ms: wait };
    // Count before awaiting, so that concurrent attempts cannot all pass the limit.
    this.#both.count(both);
    this.#byAddress.count(address);
    if (userName.test(name)) this.#byName.count(name);
    const user = this.#users.find(name);
    const isRight = await this.#checks.check(password.slice(0, passwordChars.most + 1), user?.password);
    if (isRight === undefined) {
      // No password was checked, so the attempt does not count.
      this.#both.giveBack(both);
      this.#giveBack(name, address);
      return { kind: 'wait', ms: BUSY_MS };
    }
    if (!isRight || user === undefined) return { kind: 'wrong' };
    this.#both.forget(both);
    this.#giveBack(name, address);
    return { kind: 'user', user };
  }

  #giveBack(name: string, address: string): void {
    this.#byAddress.giveBack(address);
    this.#byName.giveBack(name);
  }
}
