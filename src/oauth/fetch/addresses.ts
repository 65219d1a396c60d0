/** Which addresses are public. Ranges from the IANA registries of special-purpose addresses (RFC 6890, RFC 8190). */
import { BlockList, isIP, isIPv4 } from 'node:net';

const loopback = listOf(['127.0.0.0/8', '::1/128']);

const v4Inside = listOf([
  '0.0.0.0/8', // this network; the unspecified address reaches the machine itself
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT; some clouds have their metadata service here
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // a cloud's own service for its machines, at a public address
  '169.254.0.0/16', // link-local, with most clouds' metadata service
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
]);

/**
 * The only range for use between networks. Loopback, unique-local, link-local and multicast addresses are outside of
 * it.
 */
const v6Global = listOf(['2000::/3']);

const v6Inside = listOf([
  '2001::/23', // protocol assignments, with Teredo, which wraps IPv4
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, which wraps IPv4
  '2620:4f:8000::/48', // AS112
  '3fff::/20', // documentation
]);

/**
 * NAT64 (RFC 6052): a network without IPv4 reaches all of IPv4 through this prefix. The embedded IPv4 address decides.
 */
const translated = listOf(['64:ff9b::/96']);

/** Whether a request from anybody may lead to this address. False for anything that is not a plain IP address. */
export function isOutside(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !v4Inside.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  if (translated.check(address, 'ipv6')) return isOutside(lastFourBytes(address));
  return v6Global.check(address, 'ipv6') && !v6Inside.check(address, 'ipv6');
}

/** Also an IPv4 address in its IPv6 form. */
export function isLoopback(address: string): boolean {
  return isIn(loopback, address);
}

/** The names of this machine, as URLs spell them. */
export const loopbackNames: readonly string[] = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * For the host of a URL or of a bind, in lower case. Names under `localhost` do not count: a resolver may ask the
 * network for them. IPv4 addresses in their IPv6 form do not count either.
 */
export function isLoopbackHost(host: string): boolean {
  return host === '::1' || loopbackNames.includes(host) || (isIPv4(host) && host.startsWith('127.'));
}

export function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && !address.includes('%') && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

/** Throws for an entry that is neither an address nor a range. */
export function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', bits] = cidr.split('/');
    const isV6 = network.includes(':');
    list.addSubnet(network, Number(bits ?? (isV6 ? 128 : 32)), isV6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/**
 * The URL parser writes the embedded IPv4 address as the last two groups of hexadecimal digits, with `::` for zeros.
 */
function lastFourBytes(address: string): string {
  const { hostname } = new URL(`http://[${address}]`);
  const groups = hostname.slice(1, -1).split(':').slice(-2);
  const [high = 0, low = 0] = groups.map((group) => Number.parseInt(group || '0', 16));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}
