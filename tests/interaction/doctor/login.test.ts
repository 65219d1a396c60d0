/** From a 401 to a call: `doctor` against a gateway with its own authorization server, and what it never prints. */
import { describe, expect, it } from 'vitest';
import type { StepReport } from '../../../src/doctor/diagnose.ts';
import { verifies } from '../../requirements/verifies.ts';
import { Setting } from '../authserver/setting.ts';
import { startV2 } from '../harness/sdk-servers.ts';
import { startFaulty } from './faulty-server.ts';
import { furnishedV2 } from './furnished.ts';
import { at, broken, check, complaints, doctor, failures } from './inspect.ts';

const call = { tool: 'echo', args: { text: 'hello' } };

/** In front of an official server. */
async function launch(): Promise<Setting> {
  const { url } = await startV2(furnishedV2);
  return Setting.launch({ more: { backends: { b: { url } } } });
}

const stateOf = (reports: readonly StepReport[], name: string) => reports.find(({ step }) => step === name)?.state;

describe('doctor', verifies('gateway:doctor:login'), () => {
  it('registers a client, signs in, and uses the token', async () => {
    const setting = await launch();
    const secrets: string[] = [];
    const openPage = (address: string) => {
      void setting.agree(setting.browser(), new URL(address)).then(async (back) => {
        secrets.push(back.searchParams.get('code') ?? 'no code');
        await (await fetch(back, { headers: { connection: 'close' } })).text();
      });
    };
    const reports = await doctor(at(`${setting.origin}/mcp`), { register: true, login: true, call, openPage });
    expect(failures(reports)).toEqual([]);
    const steps = ['challenge', 'registration', 'authorize', 'token', 'open again', 'list', 'call', 'end'];
    expect(steps.map((step) => stateOf(reports, step))).toEqual(steps.map(() => 'ok'));
    const [code = ''] = secrets;
    expect(JSON.stringify(reports)).not.toContain(code);
  });

  it('neither registers nor opens a page by itself', async () => {
    const setting = await launch();
    const opened: string[] = [];
    const reports = await doctor(at(`${setting.origin}/mcp`), { openPage: (url) => void opened.push(url) });
    expect(failures(reports)).toEqual([]);
    expect(opened).toEqual([]);
    const registration = reports.find(({ step }) => step === 'registration');
    expect(registration?.detail).toContain('not done without --register');
    expect(stateOf(reports, 'authorize')).toBe('skipped');
  });

  it('shows the authorization address for a client id that is given', async () => {
    const setting = await launch();
    const { client_id: clientId } = await setting.register({ redirect_uris: ['http://127.0.0.1/callback'] });
    const reports = await doctor(at(`${setting.origin}/mcp`), { clientId });
    const detail = reports.find(({ step }) => step === 'authorize')?.detail ?? '';
    expect(detail).toContain(`client_id=${clientId}`);
    expect(detail).toContain('code_challenge_method=S256');
  });

  it('names a redirect that is not the one it waits for', async () => {
    const setting = await launch();
    const openPage = (address: string) => {
      const redirect = new URL(new URL(address).searchParams.get('redirect_uri') ?? '');
      redirect.search = 'code=stolen&state=another';
      void fetch(redirect, { headers: { connection: 'close' } }).then((response) => response.text());
    };
    const reports = await doctor(at(`${setting.origin}/mcp`), { register: true, login: true, openPage });
    expect(failures(reports)).toEqual(['authorize: redirect_invalid']);
  });
});

describe('check', verifies('gateway:check:no-false-alarm'), () => {
  it('finds the metadata of a gateway with its own authorization server in order', async () => {
    const setting = await launch();
    const reports = await check(at(`${setting.origin}/mcp`));
    expect(complaints(reports)).toEqual([]);
    const held = reports.filter(({ era, outcome }) => era === 'any' && outcome === 'held');
    expect(held.map(({ id }) => id)).toContain('hosting:auth:as-router#issuer');
  });

  it('tests the rest with the token in a header', async () => {
    const setting = await launch();
    const { access } = await setting.tokens({ resource: `${setting.origin}/mcp` });
    const reports = await check(at(`${setting.origin}/mcp`, { authorization: `Bearer ${access}` }));
    expect(broken(reports).filter((one) => one.endsWith(' must'))).toEqual([]);
    expect(reports.filter(({ outcome }) => outcome === 'held').length).toBeGreaterThan(60);
  });
});

describe('what is printed', verifies('gateway:doctor:no-secrets'), () => {
  it('holds no header of the user, even where the server repeats it', async () => {
    const secret = 'sk-1234567890-the-secret';
    const headers = { authorization: `Bearer ${secret}`, 'x-tenant': 'tenant-of-the-user' };
    const { url } = await startFaulty({ fault: 'other id', echoesHeaders: true });
    const printed = JSON.stringify([await doctor(at(url, headers)), await check(at(url, headers))]);
    expect(printed).toContain('authorization: ***');
    expect(printed).not.toContain(secret);
    expect(printed).not.toContain('tenant-of-the-user');
  });
});
