/** The certificate authority of the proxy, as TLS clients and OpenSSL see it. */
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { caFiles, writeCa } from '../../../src/app/proxy-ca.ts';
import { type Ca, makeCa, makeLeaf } from '../../../src/proxy/certificates/certificate.ts';
import { verifies } from '../../requirements/verifies.ts';
import { modern } from '../harness/eras.ts';
import { openProxy, secured, trustBackends, tunnelTo, ways } from './setup.ts';

trustBackends();

const DAY_MS = 24 * 60 * 60_000;
const now = Date.now();
const read = modern({ method: 'tools/call', params: { name: 'work' } });
const [, , throughTls] = ways;

/** Why a client that trusts `ca` refuses a server with this leaf. Undefined: it does not. */
async function handshake(ca: Ca, host: string, leafFor = host): Promise<string | undefined> {
  const { certificate: cert, key } = makeLeaf(leafFor, ca, now);
  const server = createServer({ cert, key });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve) => {
    const name = /^[\d.:]+$/.test(host) ? {} : { servername: host };
    const socket = connect({ port, host: '127.0.0.1', ca: ca.certificate, rejectUnauthorized: true, ...name });
    socket.on('secureConnect', () => resolve(undefined));
    socket.on('error', ({ message }) => resolve(message));
    onTestFinished(() => void socket.destroy());
  });
}

describe('a certificate authority', verifies('gateway:proxy:ca'), () => {
  it.each([
    { name: 'a listed host', hosts: ['mcp.example'], host: 'mcp.example', refused: undefined },
    { name: 'another host', hosts: ['mcp.example'], host: 'other.example', refused: 'permitted subtree violation' },
    { name: 'a listed address', hosts: ['127.0.0.1', '::1'], host: '127.0.0.1', refused: undefined },
    {
      name: 'an address, where names are listed',
      hosts: ['mcp.example'],
      host: '127.0.0.1',
      refused: 'excluded subtree violation',
    },
    {
      name: 'a name, where addresses are listed',
      hosts: ['127.0.0.1'],
      host: 'localhost',
      refused: 'excluded subtree violation',
    },
  ])('is good for $name: $refused', async ({ hosts, host, refused }) => {
    expect(await handshake(makeCa(hosts, now), host)).toBe(refused);
  });

  it('is good for 90 days, and its leaves for a day within them', () => {
    const ca = makeCa(['mcp.example'], now);
    const until = (pem: string) => Date.parse(new X509Certificate(pem).validTo);
    expect(until(ca.certificate)).toBe(Math.floor((now + 90 * DAY_MS) / 1000) * 1000);
    expect(until(makeLeaf('mcp.example', ca, now).certificate)).toBe(Math.floor((now + DAY_MS) / 1000) * 1000);
    expect(makeLeaf('mcp.example', ca, now + 89.5 * DAY_MS).until).toBe(ca.until);
  });

  it('is what OpenSSL takes for a strict one: P-256, pathlen 0, critical name constraints', () => {
    const folder = mkdtempSync(join(tmpdir(), 'bascule-ca-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const ca = makeCa(['mcp.example', '10.0.0.1', '2001:db8::1'], now);
    const [caFile, leafFile] = [join(folder, 'ca.pem'), join(folder, 'leaf.pem')];
    writeFileSync(caFile, ca.certificate);
    const openssl = (...args: string[]) => execFileSync('openssl', args, { encoding: 'utf8', stdio: 'pipe' });
    const text = openssl('x509', '-in', caFile, '-noout', '-text').replace(/\s+/g, ' ');
    expect(text).toContain('NIST CURVE: P-256');
    expect(text).toContain('X509v3 Basic Constraints: critical CA:TRUE, pathlen:0');
    expect(text).toContain(
      'X509v3 Name Constraints: critical Permitted: DNS:mcp.example IP:10.0.0.1/255.255.255.255 IP:2001:DB8:0:0:0:0:0:1/',
    );
    for (const host of ['mcp.example', '10.0.0.1', '2001:db8::1']) {
      writeFileSync(leafFile, makeLeaf(host, ca, now).certificate);
      expect(openssl('verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', caFile, leafFile)).toContain('OK');
    }
    writeFileSync(leafFile, makeLeaf('other.example', ca, now).certificate);
    expect(() => openssl('verify', '-CAfile', caFile, leafFile)).toThrow('permitted subtree violation');
  });
});

describe('the proxy', verifies('gateway:proxy:ca'), () => {
  it('refuses to decrypt without one, before the tunnel is there', async () => {
    const house = await openProxy({ hasCa: false });
    const answer = await throughTls?.send(house, read);
    expect([answer?.status, answer?.json().error.data.reason]).toEqual([503, 'proxy_ca_missing']);
    expect(house.tls.of('tools/call')).toEqual([]);
  });

  it.each([
    { name: 'for other hosts', ca: () => makeCa(['other.example'], now) },
    { name: 'that has expired', ca: () => makeCa(['localhost'], now - 91 * DAY_MS) },
  ])('refuses to decrypt with one $name, until there is a new one', async ({ ca }) => {
    const house = await openProxy({ hasCa: false });
    const { dir } = house.gateway.config.store;
    writeCa(dir, ca());
    const refused = await throughTls?.send(house, read);
    expect([refused?.status, refused?.json().error.data.reason]).toEqual([503, 'proxy_ca_outdated']);
    writeCa(dir, makeCa(['localhost'], now));
    expect((await throughTls?.send(house, read))?.json().result).toBeDefined();
  });

  it('refuses one whose key others can read', async () => {
    const house = await openProxy();
    const { key } = caFiles(house.gateway.config.store.dir);
    expect(statSync(key).mode & 0o777).toBe(0o600);
    execFileSync('chmod', ['644', key]);
    const answer = await throughTls?.send(house, read);
    expect(answer?.json().error.data.reason).toBe('proxy_ca_missing');
    expect(house.gateway.log.map(({ facts }) => String(facts.cause))).toContainEqual(expect.stringContaining(key));
  });

  it('presents a leaf for exactly the host, made once', async () => {
    const house = await openProxy();
    const leaves = [];
    for (let round = 0; round < 2; round++) {
      const opened = await tunnelTo(house.gateway.proxy, new URL(house.tls.url).host);
      if (!('socket' in opened)) throw new Error('no tunnel');
      const secure = await secured(opened.socket, { servername: 'localhost', ca: house.ca });
      leaves.push(secure.getPeerCertificate());
    }
    const [first, second] = leaves;
    expect(first?.subjectaltname).toBe('DNS:localhost');
    expect(first?.serialNumber).toBe(second?.serialNumber);
  });
});
