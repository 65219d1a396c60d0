/** TLS of the listener: the certificate in force, and the next one when its files change. */
import type { ListenTls } from '../config/config.ts';
import type { TlsServing } from '../downstream/listener.ts';
import { TlsServers } from '../downstream/tls-server.ts';
import { ListFileError } from '../identity/list-file.ts';
import { WatchedFile } from '../identity/watched-file.ts';
import type { Log } from '../observe/log.ts';
import { keyWarning, pairFile, readPair, type TlsPair } from './certificate-files.ts';
import { systemClock } from './clock.ts';

export interface ReloadingTls extends TlsServing {
  /** Looks at the files now. */
  reload(): void;
  close(): void;
}

/** A certificate is renewed days before its end. */
const LOOK_MS = 1_000;
const time = { now: Date.now, after: systemClock.after };

/** Throws a ListFileError where there is no certificate that can be used. */
export function serveTls(tls: ListenTls, log: Log): ReloadingTls {
  const first = readPair(tls);
  const servers = new TlsServers(first.material);
  const warning = keyWarning(tls);
  if (warning !== undefined) log.warn({}, warning);
  if (isExpired(first)) log.warn({ until: dateOf(first) }, `the certificate ${tls.cert} has expired: renew it`);
  let inForce = first;
  const isSame = ({ material }: TlsPair) =>
    material.cert === inForce.material.cert && material.key === inForce.material.key;
  const watched = new WatchedFile(
    { file: pairFile(tls), time, warn: (text, facts = {}) => log.error(facts, text) },
    {
      pollMs: LOOK_MS,
      missing: 'the certificate or the key of `listen.tls` is gone: the old ones stay in force',
      gone: 'the certificate or the key of `listen.tls` is gone: the old ones stay in force',
      unreadable: 'the new certificate of `listen.tls` is not used, the old one stays in force',
      take: (text) => {
        if (text === undefined) return;
        const next = readPair(tls);
        if (isSame(next)) return;
        if (isExpired(next)) throw new ListFileError(`the certificate ${tls.cert} has expired`);
        servers.replace(next.material);
        inForce = next;
        log.info({ until: dateOf(next) }, `a new certificate is in force: ${tls.cert}`);
      },
    },
  );
  watched.watch();
  return {
    createServer: servers.createServer,
    reload: () => watched.reload(),
    close: () => watched.close(),
  };
}

function isExpired({ until }: TlsPair): boolean {
  return until <= time.now();
}

function dateOf({ until }: TlsPair): string {
  return new Date(until).toISOString();
}
