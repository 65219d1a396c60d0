/** The certificate and the key of `listen.tls`, as files that are read again when they change. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { ListenTls } from '../config/config.ts';
import type { TlsMaterial } from '../downstream/tls-server.ts';
import { ListFileError } from '../identity/list-file.ts';
import type { FilePort } from '../identity/watched-file.ts';
import { keyFileAt } from './key-files.ts';

export interface TlsPair {
  readonly material: TlsMaterial;
  /** When the certificate expires, in milliseconds since 1970. */
  readonly until: number;
}

const OTHERS_READ = 0o004;
/** PEM with a password, in its two forms. */
const encrypted = /-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m;

/** Both files as one: a change of either is a change. Undefined where one is missing. */
export function pairFile({ cert, key }: ListenTls): FilePort {
  const files = [cert, key].map(keyFileAt);
  return {
    stamp: () => {
      const stamps = files.map((file) => file.stamp());
      return stamps.includes(undefined) ? undefined : stamps.join(' ');
    },
    // `readPair` reads them.
    read: () => '',
  };
}

/** Throws a ListFileError that says what is wrong, with which file. */
export function readPair({ cert, key, minVersion }: ListenTls): TlsPair {
  const material = { cert: textOf(cert, 'certificate'), key: textOf(key, 'key'), minVersion };
  const certificate = certificateIn(material.cert, cert);
  if (!certificate.checkPrivateKey(keyIn(material.key, key)))
    throw new ListFileError(`the key ${key} is not that of the certificate ${cert}`);
  try {
    createSecureContext(material);
  } catch (error) {
    throw new ListFileError(`the certificate ${cert} cannot be used: ${messageOf(error)}`);
  }
  return { material, until: Date.parse(certificate.validTo) };
}

/** Undefined where only its owner and its group can read the key. */
export function keyWarning({ key }: ListenTls): string | undefined {
  const mode = statSync(key, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has no such permissions.
  if (process.platform === 'win32' || (mode & OTHERS_READ) === 0) return undefined;
  return `every user of this machine can read the key ${key} of \`listen.tls\`: remove that with chmod o-r`;
}

function textOf(path: string, what: string): string {
  const file = keyFileAt(path);
  try {
    if (file.stamp() === undefined) throw new ListFileError(`there is no ${what} ${path}`);
    return file.read();
  } catch (error) {
    if (error instanceof ListFileError) throw error;
    throw new ListFileError(`the ${what} ${path} cannot be read (${codeOf(error)})`);
  }
}

function certificateIn(text: string, path: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new ListFileError(`${path} has no certificate in PEM`);
  }
}

function keyIn(text: string, path: string): KeyObject {
  if (encrypted.test(text))
    throw new ListFileError(
      `the key ${path} has a passphrase, which the gateway cannot enter: write it without one with \`openssl pkey\``,
    );
  try {
    return createPrivateKey(text);
  } catch {
    throw new ListFileError(`${path} has no private key in PEM`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error);
}
