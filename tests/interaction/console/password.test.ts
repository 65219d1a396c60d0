/** The console with the password of the bundled authorization server. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { password, Setting } from '../authserver/setting.ts';

it(
  'a person who signed in with a password is let in, and after signing out is not',
  verifies('gateway:console:sign-in'),
  async () => {
    const { origin, browser } = await openConsole();
    const page = `${origin}/console`;
    const login = await browser.go(`${origin}/oauth/sign-in?return=%2Fconsole`);
    const entered = await browser.submit(login, { action: 'sign-in', name: 'ada', password });
    expect({ path: entered.url.pathname, status: entered.status }).toEqual({ path: '/console', status: 200 });
    expect(JSON.parse((await browser.go(`${page}/api/me`)).text)).toMatchObject({ rights: ['view'], canTry: false });
    const leaving = await browser.go(`${page}/sign-out`, { method: 'POST', headers: { origin } });
    expect(leaving.url.pathname).toBe('/oauth/sign-out');
    await browser.submit(leaving, {});
    expect((await browser.go(page)).status).toBe(401);
  },
);

async function openConsole() {
  const setting = await Setting.launch({ more: { console: { who: { principals: ['ada'] } } } });
  return { origin: setting.origin, browser: setting.browser() };
}
