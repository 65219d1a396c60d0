/**
 * The client address that every per-address limit counts: the peer of the connection, unless that is a trusted proxy.
 * Then it is the last hop in `X-Forwarded-For` that is not a trusted proxy. Hops before that one can be forged.
 */
import { type BlockList, isIP, type Socket } from 'node:net';
import type { PresentedCredentials } from '../identity/principal.ts';
import { isIn, listOf } from '../oauth/fetch/addresses.ts';

/** In the list of trusted proxies: peers of a Unix socket, who have no address. */
const SOCKET_PEERS = 'unix';

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const withPort = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/;
/** RFC 4291, 2.5.5.2: an IPv4-mapped address, as a dual-stack socket reports IPv4 and as the URL parser spells it. */
const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** Each costs about 100 bytes. */
const MOST_NETWORKS = 1_024;

/** The parts of a request that determine its client address. */
export type AddressedRequest = Pick<PresentedCredentials, 'socket' | 'headersDistinct'>;

export class ClientAddresses {
  /** Undefined where there are none, as for most: each question costs a parsed address. */
  readonly #trusted: BlockList | undefined;
  readonly #trustsSocket: boolean;
  /** Networks of peers, where there are no proxies: the peers of many requests are few. */
  readonly #networks = new Map<string, string>();

  /** Throws for an entry that is neither an address nor a range. */
  constructor(trustedProxies: readonly string[]) {
    const ranges = trustedProxies.filter((range) => range !== SOCKET_PEERS);
    this.#trustsSocket = ranges.length < trustedProxies.length;
    this.#trusted = trustedProxies.length === 0 ? undefined : listOf(ranges);
  }

  /** The peer of a connection. Undefined if the peer is a trusted proxy or has disconnected. */
  peer({ remoteAddress }: Socket): string | undefined {
    const address = plainAddress(remoteAddress ?? '');
    return address === undefined || this.#isTrusted(address) ? undefined : networkOf(address);
  }

  /** The client address of a request. Empty if the connection is closed. */
  of(caller: AddressedRequest): string {
    if (this.#trusted !== undefined) return networkOf(this.#address(caller) ?? '');
    const peer = caller.socket?.remoteAddress ?? '';
    const known = this.#networks.get(peer);
    if (known !== undefined) return known;
    const network = networkOf(plainAddress(peer) ?? '');
    if (this.#networks.size >= MOST_NETWORKS) this.#networks.clear();
    this.#networks.set(peer, network);
    return network;
  }

  /**
   * RFC 6177: a site gets up to 48 bits, and with them 65,536 networks. For records about clients that have not
   * authenticated.
   */
  siteOf(caller: AddressedRequest): string {
    return networkOf(this.#address(caller) ?? '', 48);
  }

  #isTrusted(address: string): boolean {
    return this.#trusted !== undefined && isIn(this.#trusted, address);
  }

  #address({ socket, headersDistinct }: AddressedRequest): string | undefined {
    let caller = plainAddress(socket?.remoteAddress ?? '');
    const isSocket = caller === undefined && this.#trustsSocket;
    // Most peers are clients. Node makes `headersDistinct` when it is read, which costs more than everything here.
    if (!isSocket && (caller === undefined || !this.#isTrusted(caller))) return caller;
    // The raw header: the OAuth library is shown none of these headers (oauth/server/create.ts).
    const hops = (headersDistinct?.['x-forwarded-for'] ?? []).join(',').split(',');
    while (caller === undefined ? isSocket : this.#isTrusted(caller)) {
      const before = plainAddress((hops.pop() ?? '').trim());
      // No hop, or one that is not an address: count the proxy itself.
      if (before === undefined) break;
      caller = before;
    }
    return caller;
  }
}

/** One spelling per address, without its zone. Undefined if the text is not an address. */
function plainAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text;
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

/** RFC 6177: a holder of one IPv6 address has at least the whole /64 network. */
function networkOf(address: string, bits: 48 | 64 = 64): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - groups.length - after.length }, () => '0');
  return `${[...groups, ...zeros, ...after].slice(0, bits / 16).join(':')}::/${bits}`;
}
