/** Certificate authorities and server certificates of the tests, made with openssl. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Paths of PEM files. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'ignore' });

const filesIn = (folder: string, name: string): CertificateFiles => ({
  certificate: join(folder, `${name}.pem`),
  key: join(folder, `${name}.key`),
});

const newKey = (key: string) => ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc', '-keyout', key];

export function makeAuthority(folder: string): CertificateFiles {
  const files = filesIn(folder, 'authority');
  const subject = ['-subj', '/CN=an authority of the tests', '-days', '2'];
  openssl('req', '-x509', ...newKey(files.key), ...subject, '-out', files.certificate);
  return files;
}

/** `names`: for whom it is, such as `IP:127.0.0.1`. */
export function makeCertificate(folder: string, authority: CertificateFiles, names: string): CertificateFiles {
  const files = filesIn(folder, 'server');
  const issuer = ['-CA', authority.certificate, '-CAkey', authority.key];
  const facts = ['-subj', '/CN=a server of the tests', '-days', '2', '-addext', `subjectAltName=${names}`];
  openssl('req', '-x509', ...issuer, ...newKey(files.key), ...facts, '-out', files.certificate);
  return files;
}
