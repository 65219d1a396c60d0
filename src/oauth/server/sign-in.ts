/** Name and password to a user, or to why not. What was wrong of the two is never told, nor can it be timed. */
import { Attempts } from '../../web/attempts.ts';
import { authServerLimits as limits } from './limits.ts';
import { PasswordChecks } from './passwords.ts';
import { passwordChars } from './user-book.ts';
import { type User, userName } from './user-file.ts';
import type { Users } from './users.ts';

export type SignInResult =
  | { readonly kind: 'user'; readonly user: User }
  | { readonly kind: 'wrong' }
  /** Too many wrong ones, or too many at once. */
  | { readonly kind: 'wait'; readonly ms: number };

export interface Tried {
  readonly name: string;
  readonly password: string;
  readonly address: string;
}

/** Others are before this one; they take a tenth of a second each. */
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
    // Counted before it is checked: many at the same time must not all be the first.
    this.#both.count(both);
    this.#byAddress.count(address);
    if (userName.test(name)) this.#byName.count(name);
    const user = this.#users.find(name);
    const isRight = await this.#checks.check(password.slice(0, passwordChars.most + 1), user?.password);
    if (isRight === undefined) {
      // Nothing was checked, so that nothing was wrong.
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
