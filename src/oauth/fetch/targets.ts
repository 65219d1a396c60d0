/** Decides whether we may connect to a URL that a third party named. */
import { type BlockList, isIP } from 'node:net';
import { isIn, isLoopback, isOutside, listOf } from './addresses.ts';
import { OutwardError } from './errors.ts';

/** Ports of other protocols, where a request could act as a command: the Fetch standard's list ("port blocking"). */
const OTHER_PROTOCOLS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

export interface TargetRules {
  /**
   * Allow loopback by its own name or address, also over http. A public name that resolves to loopback is still
   * refused.
   */
  readonly allowLoopback: boolean;
  /** Internal hosts, addresses and ranges that may be reached: `idp.example.com`, `10.1.0.0/16`. */
  readonly allow: readonly string[];
  readonly urlBytes: number;
}

/** The constructor throws for an entry of `allow` that is neither a range nor a host. */
export class TargetFilter {
  readonly #rules: TargetRules;
  readonly #hosts: ReadonlySet<string>;
  readonly #ranges: BlockList;

  constructor(rules: TargetRules) {
    const isRange = (entry: string) => isIP(entry.split('/')[0] ?? '') !== 0;
    this.#rules = rules;
    this.#ranges = listOf(rules.allow.filter(isRange));
    this.#hosts = new Set(rules.allow.filter((entry) => !isRange(entry)).map(canonicalHost));
  }

  /** Throws an OutwardError for a URL that is refused before its name is resolved. */
  parse(text: string): URL {
    if (text.length > this.#rules.urlBytes || !URL.canParse(text)) throw refused('it is not a URL, or is too long');
    const url = new URL(text);
    const loopback = this.#rules.allowLoopback && isLoopbackTarget(hostOf(url));
    if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) throw refused('only https is allowed');
    if (url.username !== '' || url.password !== '') throw refused('it has credentials');
    if (url.port !== '' && OTHER_PROTOCOLS.has(Number(url.port))) throw refused('its port belongs to another protocol');
    // A connection to an IP address does no DNS lookup, so check the address here.
    if (isIP(hostOf(url)) !== 0) this.check(hostOf(url), [hostOf(url)]);
    url.hash = '';
    return url;
  }

  /** Throws if any address is forbidden: a name that resolves to both kinds is an attack. */
  check(host: string, addresses: readonly string[]): void {
    if (addresses.every((address) => this.#mayConnect(host, address))) return;
    throw new OutwardError('address_forbidden', `${host} resolves to an address that the gateway may not connect to`);
  }

  #mayConnect(host: string, address: string): boolean {
    if (isOutside(address)) return true;
    if (this.#rules.allowLoopback && isLoopback(address) && isLoopbackTarget(host)) return true;
    return isIP(address) !== 0 && (this.#hosts.has(host) || isIn(this.#ranges, address));
  }
}

/** The host as DNS and our lists spell it: without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** RFC 6761, section 6.3: these names are loopback everywhere. */
function isLoopbackTarget(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || isLoopback(host);
}

function canonicalHost(entry: string): string {
  const text = `https://${entry}/`;
  if (/[:/@?#\\\s]/.test(entry) || !URL.canParse(text))
    throw new TypeError(`${JSON.stringify(entry)} is neither a host nor a range of addresses`);
  return hostOf(new URL(text));
}

function refused(why: string): OutwardError {
  return new OutwardError('url_forbidden', `the URL is refused: ${why}`);
}
