/** Makes X.509 certificates (RFC 5280): a CA that can sign for a list of hosts and nothing else, and leaves of it. */
import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { bits, explicit, implicit, integer, objectId, octets, sequence, setOf, text, time, yes } from './der.ts';

export interface KeyedCertificate {
  /** PEM, like `key`. */
  readonly certificate: string;
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface Ca extends KeyedCertificate {
  readonly name: string;
  /** The names and addresses that it may sign for. */
  readonly hosts: readonly string[];
}

const DAY_MS = 24 * 60 * 60_000;
const CA_MS = 90 * DAY_MS;
const LEAF_MS = DAY_MS;
/** Clocks of clients may be behind. */
const SKEW_MS = 5 * 60_000;

const COMMON_NAME = '2.5.4.3';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const SUBJECT_KEY = '2.5.29.14';
const KEY_USAGE = '2.5.29.15';
const ALTERNATIVE_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const NAME_CONSTRAINTS = '2.5.29.30';
const AUTHORITY_KEY = '2.5.29.35';
const EXTENDED_USAGE = '2.5.29.37';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

/** Bit strings of KeyUsage: `digitalSignature` is bit 0, `keyCertSign` is bit 5. */
const SIGNS = bits(Buffer.from([0x80]), 7);
const SIGNS_CERTIFICATES = bits(Buffer.from([0x04]), 2);

/** GeneralName, by its number in the choice. */
const DNS = 2;
const ADDRESS = 7;

const serverAuth = extension(EXTENDED_USAGE, sequence(objectId(SERVER_AUTH)));

/** Signs for these hosts, and the hosts below them: name constraints cannot exclude those. */
export function makeCa(hosts: readonly string[], now: number): Ca {
  const { publicKey, privateKey } = newKey();
  const until = now + CA_MS;
  // Several CAs may stand in one file of trusted ones: they are told apart by name.
  const name = `Bascule proxy CA ${randomBytes(4).toString('hex')}`;
  const extensions = [
    extension(BASIC_CONSTRAINTS, sequence(yes, integer(Buffer.from([0]))), 'critical'),
    extension(KEY_USAGE, SIGNS_CERTIFICATES, 'critical'),
    extension(NAME_CONSTRAINTS, nameConstraints(hosts), 'critical'),
    serverAuth,
    extension(SUBJECT_KEY, octets(keyIdOf(publicKey))),
  ];
  const body = { publicKey, subject: nameOf(name), issuer: nameOf(name), from: now - SKEW_MS, until, extensions };
  return { ...signed(body, privateKey), key: pemOf(privateKey), until, name, hosts };
}

/** For exactly this host. `ca` has to permit it: clients check that. */
export function makeLeaf(host: string, ca: Ca, now: number): KeyedCertificate {
  const { publicKey, privateKey } = newKey();
  const until = Math.min(now + LEAF_MS, ca.until);
  const extensions = [
    extension(KEY_USAGE, SIGNS, 'critical'),
    serverAuth,
    extension(ALTERNATIVE_NAME, sequence(generalName(host))),
    extension(AUTHORITY_KEY, sequence(implicit(0, keyIdOf(createPublicKey(ca.key))))),
  ];
  const [subject, issuer] = [nameOf('Bascule proxy'), nameOf(ca.name)];
  const body = { publicKey, subject, issuer, from: now - SKEW_MS, until, extensions };
  return { ...signed(body, ca.key), key: pemOf(privateKey), until };
}

interface CertificateBody {
  readonly publicKey: KeyObject;
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly from: number;
  readonly until: number;
  readonly extensions: readonly Buffer[];
}

function signed(body: CertificateBody, by: KeyObject | string): { readonly certificate: string } {
  const { publicKey, subject, issuer, from, until, extensions } = body;
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const version3 = explicit(0, integer(Buffer.from([2])));
  const content = sequence(
    version3,
    integer(randomBytes(16)),
    algorithm,
    issuer,
    sequence(time(from), time(until)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions)),
  );
  const whole = sequence(content, algorithm, bits(sign('sha256', content, by)));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return { certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n` };
}

function newKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function extension(id: string, value: Buffer, critical?: 'critical'): Buffer {
  return sequence(objectId(id), ...(critical === undefined ? [] : [yes]), octets(value));
}

function nameOf(commonName: string): Buffer {
  return sequence(setOf(sequence(objectId(COMMON_NAME), text(commonName))));
}

/** RFC 7093, 2: a digest of the public key. */
function keyIdOf(publicKey: KeyObject): Buffer {
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(spki).digest().subarray(0, 20);
}

function generalName(host: string): Buffer {
  return isIP(host) === 0 ? implicit(DNS, Buffer.from(host)) : implicit(ADDRESS, addressBytes(host));
}

/**
 * RFC 5280, 4.2.1.10. A kind of name that no permitted entry has is not restricted at all, so it is excluded as a
 * whole.
 */
function nameConstraints(hosts: readonly string[]): Buffer {
  const names = hosts.filter((host) => isIP(host) === 0);
  const addresses = hosts.filter((host) => isIP(host) !== 0);
  const permitted = [
    ...names.map((host) => implicit(DNS, Buffer.from(host))),
    ...addresses.map(addressBytes).map((bytes) => implicit(ADDRESS, bytes, Buffer.alloc(bytes.length, 0xff))),
  ];
  const excluded = [
    ...(names.length > 0 ? [] : [implicit(DNS)]),
    ...(addresses.length > 0 ? [] : [implicit(ADDRESS, Buffer.alloc(8)), implicit(ADDRESS, Buffer.alloc(32))]),
  ];
  const subtrees = [permitted, excluded].map((list, number) =>
    list.length === 0 ? Buffer.alloc(0) : explicit(number, ...list.map((base) => sequence(base))),
  );
  return sequence(...subtrees);
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  const [head = '', tail] = address.split('::');
  const groups = (part: string | undefined) => (part === undefined || part === '' ? [] : part.split(':'));
  const [before, after] = [groups(head), groups(tail)];
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
