/** `bascule proxy ca|env`: the certificate authority of the proxy, and what clients need to use the proxy. */
import { caFiles, readCa, writeCa } from '../app/proxy-ca.ts';
import type { Config } from '../config/config.ts';
import { interceptedNames } from '../proxy/hosts.ts';
import type { output } from './with-config.ts';

type CommandOutput = typeof output;

const DAY_MS = 24 * 60 * 60_000;
/** A certificate authority that is good for longer than that is kept. */
const RENEWED_DAYS = 30;

/** Returns the exit code. */
export async function makeProxyCa(config: Config, renew: boolean, { say, remark }: CommandOutput): Promise<number> {
  if (config.proxy === undefined) return withoutProxy(remark);
  const hosts = interceptedNames(config);
  if (hosts.length === 0) {
    remark('no certificate authority is needed: the proxy decrypts no connection');
    return 0;
  }
  const { dir } = config.store;
  const files = caFiles(dir);
  if (!renew && isGood(config, hosts)) {
    say(files.certificate);
    remark('there is a certificate authority for these hosts already; `--renew` replaces it');
    return 0;
  }
  const { makeCa } = await import('../proxy/certificates/certificate.ts');
  const ca = makeCa(hosts, Date.now());
  writeCa(dir, ca);
  say(files.certificate);
  remark(`made a certificate authority for ${hosts.join(', ')}, good until ${new Date(ca.until).toISOString()}`);
  remark('clients have to trust this certificate, and to read it again if they did already: see `bascule proxy env`');
  return 0;
}

function isGood({ store }: Config, hosts: readonly string[]): boolean {
  try {
    const ca = readCa(store.dir);
    const isForThese = ca?.hosts.length === hosts.length && hosts.every((host) => ca.hosts.includes(host));
    return isForThese && ca.until > Date.now() + RENEWED_DAYS * DAY_MS;
  } catch {
    return false;
  }
}

/** For `eval` in a shell, and for people. */
export function showProxyEnvironment({ proxy, store, identity }: Config, { say, remark }: CommandOutput): number {
  if (proxy === undefined) return withoutProxy(remark);
  const { host, port } = proxy.listen;
  const { certificate } = caFiles(store.dir);
  const hasKeys = identity.keyFile !== undefined || identity.issuers.length > 0;
  const url = `http://${hasKeys ? 'bascule:$BASCULE_KEY@' : ''}${host.includes(':') ? `[${host}]` : host}:${port}`;
  if (hasKeys) say('# BASCULE_KEY: an access key, from `bascule key new <name>`');
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy']) say(`export ${name}="${url}"`);
  say('# Node programs use the proxy only with this (Node 22.21, 24 and newer)');
  say('export NODE_USE_ENV_PROXY=1');
  say(`export NODE_EXTRA_CA_CERTS="${certificate}"`);
  say('# For programs that use OpenSSL, Python or Go. They trust this certificate alone then, so that nothing else');
  say(
    '# than the proxy can be reached over TLS; hosts with `tunnel: true` need a file with the usual roots beside it.',
  );
  say(`export SSL_CERT_FILE="${certificate}"`);
  return 0;
}

function withoutProxy(remark: CommandOutput['remark']): number {
  remark('the config has no `proxy`: add `proxy: {}`');
  return 2;
}

/** One sentence for `config check`, where the certificate authority is missing or does not fit. */
export function caProblems(config: Config): string[] {
  const hosts = config.proxy === undefined ? [] : interceptedNames(config);
  if (hosts.length === 0) return [];
  const cure = 'run `bascule proxy ca`; until then these hosts are refused at the proxy';
  try {
    const ca = readCa(config.store.dir);
    if (ca === undefined) return [`the proxy has no certificate authority for ${hosts.join(', ')}: ${cure}`];
    if (ca.until <= Date.now()) return [`the certificate authority of the proxy has expired: ${cure}`];
    const missing = hosts.filter((host) => !ca.hosts.includes(host));
    return missing.length === 0 ? [] : [`the proxy’s certificate authority is not for ${missing.join(', ')}: ${cure}`];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
