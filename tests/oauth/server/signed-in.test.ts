/** Whom other pages of the gateway take the browser for. */
import { describe, expect, it } from 'vitest';
import { Browser } from '../../interaction/authserver/browser.ts';
import { verifies } from '../../requirements/verifies.ts';
import { password, type Served, serve } from './served.ts';

async function signIn({ origin }: Served): Promise<string> {
  const browser = new Browser(origin);
  const page = await browser.go(`${origin}/oauth/sign-in`);
  const after = await browser.submit(page, { action: 'sign-in', name: 'ada', password });
  expect(after.text).toContain('You are signed in');
  return [...browser.cookies].map(([key, { value }]) => `${key.split(' ')[0]}=${value}`).join('; ');
}

describe('the form to sign in with', verifies('gateway:authserver:pages'), () => {
  it('is valid only in the browser that it was shown in', async () => {
    const { origin } = await serve();
    const [browser, other] = [new Browser(origin), new Browser(origin)];
    const page = await browser.go(`${origin}/oauth/sign-in`);
    const fields = { action: 'sign-in', name: 'ada', password };
    expect((await other.submit(page, fields)).text).toContain('This sign-in has ended');
    // One that has a form of its own open, too.
    await other.go(`${origin}/oauth/sign-in`);
    expect((await other.submit(page, fields)).text).toContain('This sign-in has ended');
    // A second page in the same browser does not end the first.
    await browser.go(`${origin}/oauth/sign-in?return=/x`);
    expect((await browser.submit(page, fields)).text).toContain('You are signed in');
  });
});

describe('a browser that is signed in', verifies('gateway:authserver:sign-in'), () => {
  it.each([
    { name: 'is signed out once the user is removed', changed: () => undefined, who: undefined },
    { name: 'is signed out once the password is changed', changed: () => Date.now() + 5_000, who: undefined },
    { name: 'stays signed in when the file changes otherwise', changed: () => 1_000, who: 'ada' },
  ])('$name', async ({ changed, who }) => {
    const served = await serve();
    const cookies = await signIn(served);
    expect(await served.server.signedIn(cookies)).toBe('ada');
    served.rewriteUsers(changed());
    expect(await served.server.signedIn(cookies)).toBe(who);
  });
});
