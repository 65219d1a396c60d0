import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { temporaryDirectory } from '../../store/file/directory.ts';
import { listen, outward, serve } from './server.ts';

describe('no connection is opened', verifies('gateway:outward:address'), () => {
  it('to an internal address, however the URL spells it', async () => {
    const server = await serve((_, response) => response.end());
    const { fetch } = outward();
    const hosts = [
      '127.0.0.1',
      '2130706433',
      '0x7f.1',
      '0177.0.0.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[64:ff9b::7f00:1]',
      '0.0.0.0',
      '[::]',
    ];
    for (const host of hosts)
      await expect(fetch(`https://${host}:${server.port}/`)).rejects.toMatchObject({ kind: 'address_forbidden' });
    expect(server.connections()).toBe(0);
  });

  const resolved = [
    { name: 'loopback', addresses: ['127.0.0.1'] },
    { name: 'loopback of IPv6', addresses: ['::1'] },
    { name: 'loopback, wrapped', addresses: ['::ffff:127.0.0.1'] },
    { name: 'an address outside and one inside', addresses: ['8.8.8.8', '127.0.0.1'] },
    { name: 'the metadata service', addresses: ['169.254.169.254'] },
    { name: 'something that is no address', addresses: ['localhost'] },
  ];
  for (const allowLoopback of [false, true])
    for (const { name, addresses } of resolved) {
      it(`to a public name that leads to ${name}${allowLoopback ? ', where loopback is allowed too' : ''}`, async () => {
        const server = await serve((_, response) => response.end());
        const { fetch } = outward({ allowLoopback, resolve: async () => addresses });
        const asked = fetch(`https://public.example:${server.port}/`);
        await expect(asked).rejects.toMatchObject({ name: 'OutwardError', kind: 'address_forbidden' });
        await expect(asked).rejects.not.toThrow(addresses[0]);
        expect(server.connections()).toBe(0);
      });
    }

  it('to a name of loopback that leads elsewhere', async () => {
    const { fetch } = outward({ allowLoopback: true, resolve: async () => ['10.0.0.1'] });
    await expect(fetch('http://localhost:1234/')).rejects.toMatchObject({ kind: 'address_forbidden' });
  });

  it('to a second answer of the resolver: it resolves once, and connects to that answer', async () => {
    const server = await serve((_, response) => response.writeHead(200, { connection: 'close' }).end());
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    const { fetch } = outward({ allowLoopback: true, resolve: async () => answers.shift() ?? [] });
    expect((await fetch(`http://localhost:${server.port}/`)).status).toBe(200);
    expect(answers).toHaveLength(1);
    await expect(fetch(`http://localhost:${server.port}/`)).rejects.toMatchObject({ kind: 'address_forbidden' });
    expect(server.connections()).toBe(1);
  });
});

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasOpenssl)('over TLS', verifies('gateway:outward:address'), () => {
  const startTls = async () => {
    const dir = temporaryDirectory();
    const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
    const subject = ['-subj', '/CN=idp.corp.example', '-addext', 'subjectAltName=DNS:idp.corp.example'];
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
    execFileSync('openssl', ['req', ...kind, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
    const ca = readFileSync(cert, 'utf8');
    const server = await listen(
      createServer({ key: readFileSync(key), cert: ca }, (request, response) => response.end(request.headers.host)),
    );
    return { ca, server };
  };

  it('an allowed host inside is reached at the checked address, and proves its name', async () => {
    const { ca, server } = await startTls();
    const resolve = async () => ['127.0.0.1'];
    const { fetch } = outward({ ca, resolve, allow: ['idp.corp.example', 'other.corp.example'] });
    const response = await fetch(`https://idp.corp.example:${server.port}/`);
    expect(await response.text()).toBe(`idp.corp.example:${server.port}`);
    await expect(fetch(`https://other.corp.example:${server.port}/`)).rejects.toMatchObject({
      kind: 'address_unreachable',
    });
    const before = server.connections();
    await expect(fetch(`https://third.corp.example:${server.port}/`)).rejects.toMatchObject({
      kind: 'address_forbidden',
    });
    expect(server.connections()).toBe(before);
  });

  it('an untrusted certificate is rejected', async () => {
    const { server } = await startTls();
    const { fetch } = outward({ resolve: async () => ['127.0.0.1'], allow: ['127.0.0.1/32'] });
    await expect(fetch(`https://idp.corp.example:${server.port}/`)).rejects.toMatchObject({
      kind: 'address_unreachable',
    });
  });
});
