/** Errors of Redis by name. The library's errors contain the arguments of the command, so no error refers to them. */
import { StoreError, type StoreErrorKind } from '../errors.ts';

interface RedisRefusal {
  /** How the server's error begins, or what that of TLS contains. */
  readonly starts: string;
  readonly kind: StoreErrorKind;
  readonly text: string;
}

const unverified =
  'has a certificate that cannot be verified: put the certificate of its authority into a file, and name the file in NODE_EXTRA_CA_CERTS';

const credentials = 'refuses the user or the password: check those in `store.url`';

const refusals: readonly RedisRefusal[] = [
  { starts: 'READONLY', kind: 'read_only', text: 'is a read-only replica: name the primary in `store.url`' },
  { starts: 'WRONGPASS', kind: 'denied', text: credentials },
  { starts: 'NOAUTH', kind: 'denied', text: credentials },
  { starts: 'ERR AUTH', kind: 'denied', text: credentials },
  {
    starts: 'NOPERM',
    kind: 'denied',
    text: 'does not allow the user a command, key or channel: docs/scaling.md has the permissions that are needed',
  },
  { starts: 'OOM', kind: 'full', text: 'has no memory left: raise its `maxmemory`' },
  { starts: 'MISCONF', kind: 'full', text: 'cannot save its data and refuses writes: look at its log and its disk' },
  { starts: 'NOREPLICAS', kind: 'away', text: 'has too few replicas to accept writes' },
  { starts: 'LOADING', kind: 'away', text: 'is still reading its data' },
  { starts: 'MASTERDOWN', kind: 'away', text: 'has lost its primary' },
  { starts: 'CLUSTERDOWN', kind: 'away', text: 'is a cluster that is down: look at `redis-cli cluster info`' },
  { starts: 'MOVED', kind: 'unusable', text: 'is a node of a cluster: set `store.cluster`' },
  {
    starts: 'ERR This instance has cluster support disabled',
    kind: 'unusable',
    text: 'is not a node of a cluster: remove `store.cluster`',
  },
  { starts: 'ERR unknown command', kind: 'unusable', text: 'lacks a command: Redis 6.2, or Valkey, is needed' },
  { starts: 'unable to verify the first certificate', kind: 'unusable', text: unverified },
  { starts: 'unable to get local issuer certificate', kind: 'unusable', text: unverified },
  { starts: 'self-signed certificate', kind: 'unusable', text: unverified },
  {
    starts: "does not match certificate's altnames",
    kind: 'unusable',
    text: 'has a certificate for another name: write in `store.url` the name that is in the certificate',
  },
  { starts: 'certificate has expired', kind: 'unusable', text: 'has a certificate that has expired: renew it' },
  { starts: 'ERR DB index', kind: 'unusable', text: 'does not have the database that `store.url` names' },
];

/** `where`: the addresses of the servers. */
export function namedRefusal(where: string, error: unknown): StoreError {
  const { message } = rootOf(error);
  const row = refusals.find(({ starts }) => message.includes(starts));
  if (row !== undefined) return new StoreError(row.kind, `Redis at ${where} ${row.text}`);
  return awayError(where, message);
}

export function awayError(where: string, why: string): StoreError {
  return new StoreError('away', `Redis at ${where} cannot be reached (${why})`);
}

/** A cluster says that all nodes failed; why is in the last one's error. */
function rootOf(error: unknown): Error {
  const inner = (error as { lastNodeError?: unknown }).lastNodeError;
  return inner instanceof Error ? inner : error instanceof Error ? error : new Error('unknown');
}
