import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ClientAddresses } from '../../../src/downstream/callers.ts';
import { authServerLimits as limits } from '../../../src/oauth/server/limits.ts';
import { verifies } from '../../requirements/verifies.ts';
import { serve } from './served.ts';

const trusted = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8'];

describe('the address of a caller', verifies('gateway:authserver:bounded'), () => {
  it.each([
    { name: 'the other end', from: '192.0.2.1', told: [], is: '192.0.2.1' },
    {
      name: 'the peer, whatever an untrusted client claims',
      from: '192.0.2.1',
      told: ['198.51.100.1'],
      is: '192.0.2.1',
    },
    { name: 'whom a trusted proxy names', from: '10.0.0.1', told: ['198.51.100.1'], is: '198.51.100.1' },
    { name: 'not whom the caller names', from: '10.0.0.1', told: ['1.1.1.1, 198.51.100.1'], is: '198.51.100.1' },
    {
      name: 'the one before several proxies',
      from: '10.0.0.1',
      told: ['1.1.1.1,192.0.2.7, 10.2.0.1'],
      is: '192.0.2.7',
    },
    { name: 'the last of several headers', from: '10.0.0.1', told: ['1.1.1.1', '192.0.2.7'], is: '192.0.2.7' },
    { name: 'the proxy, if it names no client', from: '10.0.0.1', told: [], is: '10.0.0.1' },
    { name: 'the proxy that names no address', from: '10.0.0.1', told: ['1.1.1.1, unknown'], is: '10.0.0.1' },
    { name: 'the first where all are trusted', from: '10.0.0.1', told: ['10.9.9.9'], is: '10.9.9.9' },
    { name: 'an address with its port', from: '10.0.0.1', told: ['192.0.2.7:4711'], is: '192.0.2.7' },
    { name: 'an IPv6 address with its port', from: 'fd00::1', told: ['[2001:db8::1]:47'], is: '2001:db8:0:0::/64' },
    { name: 'IPv4 on a socket for both', from: '::ffff:10.0.0.1', told: ['::ffff:192.0.2.7'], is: '192.0.2.7' },
    { name: 'a network of IPv6', from: '2001:db8:1:2:3:4:5:6', told: [], is: '2001:db8:1:2::/64' },
    { name: 'the same network in another spelling', from: '2001:0DB8:1:2::9', told: [], is: '2001:db8:1:2::/64' },
    { name: 'loopback', from: '::1', told: [], is: '0:0:0:0::/64' },
    { name: 'a link-local address with its zone', from: 'fe80::1%eth0', told: [], is: 'fe80:0:0:0::/64' },
    { name: 'none if the connection is closed', from: undefined, told: ['192.0.2.7'], is: '' },
  ])('is $name', ({ from, told, is }) => {
    const headersDistinct = told.length === 0 ? {} : { 'x-forwarded-for': told };
    const req = { socket: { remoteAddress: from }, headersDistinct } as unknown as IncomingMessage;
    expect(new ClientAddresses(trusted).of(req)).toBe(is);
  });

  it.each([
    { name: '48 bits of IPv6', from: '2001:db8:1:2:3:4:5:6', is: '2001:db8:1::/48' },
    { name: 'an address of IPv4', from: '192.0.2.1', is: '192.0.2.1' },
  ])('is of a site that is $name', ({ from, is }) => {
    const req = { socket: { remoteAddress: from }, headersDistinct: {} } as unknown as IncomingMessage;
    expect(new ClientAddresses(trusted).siteOf(req)).toBe(is);
  });

  it.each([
    { name: 'one by one behind a proxy that is trusted', trustedProxies: ['127.0.0.1'], other: 201 },
    { name: 'as the proxy where it is not', trustedProxies: [], other: 429 },
  ])('is counted $name', async ({ trustedProxies, other }) => {
    const { origin } = await serve({ trustedProxies });
    const register = async (from: string) => {
      const response = await fetch(`${origin}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
        body: JSON.stringify({ redirect_uris: ['https://app.example/callback'] }),
      });
      await response.text();
      return response.status;
    };
    for (let at = 0; at < limits.registrationsPerAddress; at += 1) expect(await register('192.0.2.1')).toBe(201);
    expect(await register('192.0.2.1')).toBe(429);
    expect(await register('192.0.2.2')).toBe(other);
  });
});
