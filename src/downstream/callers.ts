/**
 * Whom every limit by address counts. The other end of the connection, unless that is a proxy which the config trusts: then
 * the last hop that it and others like it tell of and that is none of them. What stands before that hop anybody can make up.
 */
import { type BlockList, isIP, type Socket } from 'node:net';
import type { PresentedCredentials } from '../identity/principal.ts';
import { isIn, listOf } from '../oauth/fetch/addresses.ts';

/** Some proxies tell the port as well: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withPort = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;
/** RFC 4291, 2.5.5.2, as the URL parser spells it: what a socket for both families makes of an IPv4 address. */
const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** What is looked at of a request. */
export type AddressedRequest = Pick<PresentedCredentials, 'socket' | 'headersDistinct'>;

export class ClientAddresses {
  readonly #trusted: BlockList;

  /** Throws for what is no address and no range. */
  constructor(trustedProxies: readonly string[]) {
    this.#trusted = listOf(trustedProxies);
  }

  /** The other end of a connection; undefined where it is a trusted proxy, or gone. */
  peer({ remoteAddress }: Socket): string | undefined {
    const address = plainAddress(remoteAddress ?? '');
    return address === undefined || isIn(this.#trusted, address) ? undefined : networkOf(address);
  }

  /** Empty where the connection is gone. */
  of(caller: AddressedRequest): string {
    return networkOf(this.#address(caller) ?? '');
  }

  /**
   * RFC 6177: a site gets up to 48 bits, and with them 65,536 networks. For what is kept of a caller that has proven
   * nothing.
   */
  siteOf(caller: AddressedRequest): string {
    return networkOf(this.#address(caller) ?? '', 48);
  }

  #address({ socket, headersDistinct }: AddressedRequest): string | undefined {
    let caller = plainAddress(socket?.remoteAddress ?? '');
    // As it came: the library is shown none of these headers (requests.ts).
    const hops = (headersDistinct?.['x-forwarded-for'] ?? []).join(',').split(',');
    while (caller !== undefined && isIn(this.#trusted, caller)) {
      const before = plainAddress((hops.pop() ?? '').trim());
      // Nobody is named, or nobody who could be counted: then it is the proxy who asks.
      if (before === undefined) break;
      caller = before;
    }
    return caller;
  }
}

/** Undefined for what is no address. One spelling for each, without zone. */
function plainAddress(text: string): string | undefined {
  const parts = withPort.exec(text);
  const [address = ''] = (parts?.[1] ?? parts?.[2] ?? text).split('%');
  const family = isIP(address);
  if (family !== 6) return family === 4 ? address : undefined;
  const spelled = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const inside = mapped.exec(spelled);
  if (inside === null) return spelled;
  const [high = 0, low = 0] = inside.slice(1).map((group) => Number.parseInt(group, 16));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

/** RFC 6177: whoever has one IPv6 address has at least the 64 bits behind it too. */
function networkOf(address: string, bits: 48 | 64 = 64): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - groups.length - after.length }, () => '0');
  return `${[...groups, ...zeros, ...after].slice(0, bits / 16).join(':')}::/${bits}`;
}
