/** Checks a name and a password. Neither the result nor its timing reveals which of the two was wrong. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAddresses } from '../../downstream/callers.ts';
import { Attempts } from '../../web/attempts.ts';
import { authServerLimits as limits } from './limits.ts';
import { retryAfter, type ShownPage, show } from './pages/answers.ts';
import type { LoginView } from './pages/login.ts';
import { PasswordChecks } from './passwords.ts';
import type { AuthServerOutside } from './ports.ts';
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

export interface SignInParts {
  readonly signIn: SignIn;
  readonly callers: ClientAddresses;
  readonly refused: AuthServerOutside['refused'];
}

export interface SignInForm {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly form: URLSearchParams;
  /** The page again, for another attempt. */
  readonly again: (more: Pick<LoginView, 'name' | 'trouble'>) => ShownPage;
}

/** Resolves with the user's name, or with undefined if the form was not right and the page is shown again. */
export async function signInBy(
  { req, res, form, again }: SignInForm,
  { signIn, callers, refused }: SignInParts,
): Promise<string | undefined> {
  const name = form.get('name') ?? '';
  const address = callers.of(req);
  const tried = await signIn.try({ name, password: form.get('password') ?? '', address });
  if (tried.kind === 'user') return tried.user.name;
  refused(tried.kind, address);
  if (tried.kind === 'wrong') show(res, again({ name, trouble: 'wrong' }));
  else show(res, { ...again({ name, trouble: { waitMs: tried.ms } }), headers: retryAfter(tried.ms) });
  return undefined;
}
