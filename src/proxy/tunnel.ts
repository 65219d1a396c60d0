/** A connection to a backend's host that the gateway passes on unread. */
import { lookup as resolve } from 'node:dns';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { Failure } from '../errors/failure.ts';
import { isIn, listOf } from '../oauth/fetch/addresses.ts';
import type { ProxyHost } from './hosts.ts';

/** A tunnel without a byte in either direction for this long is closed. An MCP stream sends heartbeats more often. */
const IDLE_MS = 10 * 60_000;

export const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n';

/** Services of clouds for their own machines, with credentials. A name in a config must not come to lead there. */
const metadata = listOf([
  '169.254.0.0/16', // link-local, with most clouds' metadata service
  'fe80::/10', // link-local
  '168.63.129.16/32', // Azure
  '100.100.100.200/32', // Alibaba Cloud
  'fd00:ec2::254/128', // AWS
]);

/** The address that was checked is the one that is connected to. */
const checkedLookup: LookupFunction = (host, options, callback) => {
  resolve(host, { ...options, all: true }, (error, found) => {
    const forbidden = found?.find(({ address }) => isIn(metadata, address));
    if (error !== null) callback(error, []);
    else if (forbidden !== undefined) callback(new Error(`${host} leads to ${forbidden.address}`), []);
    else if (options.all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  });
};

/** Resolves when the host has accepted the connection. Rejects with a Failure. */
export function openTunnel({ name, authority }: ProxyHost, connectMs: number): Promise<Socket> {
  const port = Number(authority.slice(authority.lastIndexOf(':') + 1));
  return new Promise((done, reject) => {
    const upstream = connect({
      ...{ host: name, port, allowHalfOpen: true },
      ...(isIP(name) === 0 && { lookup: checkedLookup }),
    });
    const late = setTimeout(() => upstream.destroy(new Error('the host does not answer')), connectMs);
    upstream.once('error', (cause) => {
      clearTimeout(late);
      reject(new Failure('proxy_tunnel_unreachable', { cause }));
    });
    upstream.once('connect', () => {
      clearTimeout(late);
      done(upstream);
    });
  });
}

/** Both directions, until both are ended. `head`: what the client has sent already. */
export function join(client: Socket, upstream: Socket, head: Uint8Array): void {
  const end = () => {
    client.destroy();
    upstream.destroy();
  };
  for (const side of [client, upstream]) {
    side.on('error', end).on('close', end);
    side.setTimeout(IDLE_MS, end);
  }
  client.write(ESTABLISHED);
  if (head.byteLength > 0) upstream.write(head);
  client.pipe(upstream);
  upstream.pipe(client);
}
