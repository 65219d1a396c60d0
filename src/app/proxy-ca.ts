/** The certificate authority of the proxy, in the directory for state: with its key, and the certificate alone. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Ca } from '../proxy/certificates/certificate.ts';
import { prepareDirectory } from '../store/file/directory.ts';
import { keyFileAt, replaceFile } from './key-files.ts';

const EVERYBODY_READS = 0o644;
/** Any permission for group or others is too much. */
const OTHERS = 0o077;

interface StoredCa extends Ca {
  readonly format: 1;
}

/** `certificate`: what clients have to trust. */
export function caFiles(dir: string): { readonly key: string; readonly certificate: string } {
  return { key: join(dir, 'proxy-ca.json'), certificate: join(dir, 'proxy-ca.pem') };
}

/** Throws an Error that says what to do. Undefined: there is none. */
export function readCa(dir: string): Ca | undefined {
  const { key: path } = caFiles(dir);
  const about = statSync(path, { throwIfNoEntry: false });
  if (about === undefined) return undefined;
  // Windows has no such permissions.
  if (process.platform !== 'win32' && (about.mode & OTHERS) !== 0)
    throw new Error(`${path} can be read by other users: run \`bascule proxy ca --renew\``);
  try {
    return parse(keyFileAt(path).read());
  } catch (error) {
    throw new Error(`${path} cannot be read: run \`bascule proxy ca --renew\``, { cause: error });
  }
}

function parse(text: string): Ca {
  const { format, name, hosts, until, certificate, key } = JSON.parse(text) as StoredCa;
  const isWhole = [name, certificate, key].every((part) => typeof part === 'string') && Array.isArray(hosts);
  if (format !== 1 || !isWhole || typeof until !== 'number') throw new Error('it is not a certificate authority');
  return { name, hosts, until, certificate, key };
}

/** Clients trust the certificate only after they have read it again, so it is written last. */
export function writeCa(dir: string, ca: Ca): void {
  const { key, certificate } = caFiles(dir);
  prepareDirectory(dir);
  replaceFile(key, () => `${JSON.stringify({ format: 1, ...ca } satisfies StoredCa)}\n`);
  replaceFile(certificate, () => ca.certificate, EVERYBODY_READS);
}

/** Reads the file again when it has changed: `bascule proxy ca` needs no restart. */
export function caReader(dir: string): () => Ca | undefined {
  const { stamp } = keyFileAt(caFiles(dir).key);
  let last: { readonly stamp: string | undefined; readonly ca: Ca | undefined } | undefined;
  return () => {
    const now = stamp();
    if (last === undefined || last.stamp !== now) last = { stamp: now, ca: readCa(dir) };
    return last.ca;
  };
}
