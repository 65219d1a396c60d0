/** Checks a name and a password. Neither the result nor its timing reveals which of the two was wrong. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientAddresses } from '../../downstream/callers.ts';
import type { AttemptCounter, AttemptCounts } from '../../store/counts.ts';
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
  readonly #attempts: AttemptCounts;

  constructor(users: Pick<Users, 'find'>, attempts: AttemptCounts) {
    this.#users = users;
    this.#attempts = attempts;
  }

  async try({ name, password, address }: Tried): Promise<SignInResult> {
    const both = JSON.stringify([name.slice(0, passwordChars.most), address]);
    const ofBoth = counter('sign-in', both, limits.failuresPerNameAndAddress);
    const ofEach = [
      counter('sign-in address', address, limits.failuresPerAddress),
      ...(userName.test(name) ? [counter('sign-in name', name, limits.failuresPerName)] : []),
    ];
    // Count before the password is checked, so that concurrent attempts cannot all pass the limit.
    const wait = await this.#attempts.attempt([ofBoth, ...ofEach]);
    if (wait > 0) return { kind: 'wait', ms: wait };
    const user = this.#users.find(name);
    const isRight = await this.#checks.check(password.slice(0, passwordChars.most + 1), user?.password);
    if (isRight === undefined) {
      // No password was checked, so the attempt does not count.
      await this.#attempts.takeBack([ofBoth, ...ofEach]);
      return { kind: 'wait', ms: BUSY_MS };
    }
    if (!isRight || user === undefined) return { kind: 'wrong' };
    await this.#attempts.takeBack(ofEach, [ofBoth]);
    return { kind: 'user', user };
  }
}

function counter(kind: string, name: string, most: number): AttemptCounter {
  return { kind, name, most, withinMs: limits.failuresWithinMs, names: limits.countedNames };
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
