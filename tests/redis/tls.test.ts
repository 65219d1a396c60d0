/** `rediss://`: the server's certificate is verified, and a certificate that is not good has a named error. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { StoreError } from '../../src/store/errors.ts';
import { verifies } from '../requirements/verifies.ts';
import { type CertificateFiles, makeAuthority, makeCertificate } from './certificates.ts';
import { eventually, freePort, startRedis } from './server.ts';
import { newPrefix, openTestStore } from './store.ts';

/** tests/redis/run.ts has made it, and this process trusts it. */
function trustedAuthority(): CertificateFiles {
  const certificate = process.env.NODE_EXTRA_CA_CERTS;
  if (certificate === undefined) throw new Error('run this with `npm run test:redis`');
  return { certificate, key: join(dirname(certificate), 'authority.key') };
}

/** The address of a server whose certificate is for these names. */
async function start(names: string, authority?: CertificateFiles): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-tls-'));
  const { certificate, key } = makeCertificate(folder, authority ?? makeAuthority(folder), names);
  const port = await freePort();
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
  const redis = await startRedis('--tls-port', String(port), ...files, '--tls-auth-clients', 'no');
  onTestFinished(async () => {
    await redis.close();
    rmSync(folder, { recursive: true });
  });
  return `rediss://127.0.0.1:${port}`;
}

const refusalOf = async (url: string): Promise<Partial<StoreError>> => {
  const warnings: string[] = [];
  const warn = (text: string) => void warnings.push(text);
  const store = await openTestStore({ settings: { url, connectMs: 1000, commandMs: 500 }, warn });
  const writing = () => store.records.put('a', 'k', 'v').catch((error: StoreError) => error);
  await eventually('the failure has its name', async () => (await writing())?.kind === 'unusable');
  const { kind, message = '' } = (await writing()) ?? {};
  expect(warnings.join('\n')).toContain(message);
  return { ...(kind && { kind }), message };
};

describe('a store at rediss://', verifies('gateway:store:redis-tls'), () => {
  it('is used where the authority of its certificate is trusted: records, messages and leases', async () => {
    const settings = { url: await start('IP:127.0.0.1', trustedAuthority()), prefix: newPrefix() };
    const [store, other] = [await openTestStore({ settings }), await openTestStore({ settings })];
    await store.records.put('a', 'k', 'v');
    expect(await other.records.get('a', 'k')).toBe('v');
    expect(await store.lease.take('l', 60_000)).toBeDefined();
    expect(await other.lease.take('l', 60_000)).toBeUndefined();
    const heard: string[] = [];
    other.bus.subscribe('t', (message) => heard.push(message));
    await eventually('the message is heard', async () => {
      await store.bus.publish('t', 'm');
      return heard.length > 0;
    });
  });

  it('is refused by name where another authority has signed', async () => {
    const { message } = await refusalOf(await start('IP:127.0.0.1'));
    expect(message).toContain('has a certificate that cannot be verified');
    expect(message).toContain('NODE_EXTRA_CA_CERTS');
  });

  it('is refused by name where the certificate is for another host', async () => {
    const { message } = await refusalOf(await start('DNS:redis.example', trustedAuthority()));
    expect(message).toContain('has a certificate for another name');
  });
});
