/** `store`: where state is kept that outlives the process, or that several processes share. */
import { resolve } from 'node:path';
import * as z from 'zod';
import { shownNodes } from '../store/redis/settings.ts';
import type { Config, StoreConfig } from './config.ts';
import type { ConfigDocument } from './document.ts';
import * as shape from './shapes.ts';

const USUAL_PREFIX = 'bascule:';

const address = shape.text(
  'an address such as redis://host:6379/0 or rediss://user:password@host, percent-encoded',
  (text) => readAddress(text) !== undefined,
);
const node = shape
  .text('a redis:// or rediss:// address', (text) => readAddress(text) !== undefined)
  .refine((text) => !readAddress(text)?.username && !readAddress(text)?.password, {
    error: 'an address without user name and password: those of `url` are used for all nodes',
  });

export const storeShape = shape.once(() =>
  shape.closed('a map of settings', {
    dir: shape.oneLine.exactOptional(),
    url: address.exactOptional(),
    cluster: z
      .union([shape.flag, shape.someOf(node, 'addresses', 'address')], {
        error: 'true, or a list of redis:// addresses of further nodes',
      })
      .exactOptional(),
    // Braces would decide about the slots of a cluster.
    prefix: shape.text('up to 64 characters without spaces and braces', /^[^\s{}\p{Cc}]{1,64}$/u).exactOptional(),
  }),
);
type StoreSettings = z.infer<ReturnType<typeof storeShape>>;

/** `directory`: what relative paths are relative to. */
export function readStore(
  document: ConfigDocument,
  { store = {}, seal }: { readonly store?: StoreSettings; readonly seal?: Config['seal'] },
  directory: string,
): Partial<StoreConfig> {
  const { dir, url, cluster = false, prefix = USUAL_PREFIX } = store;
  const path = dir === undefined ? {} : { dir: resolve(directory, dir) };
  if (url === undefined) {
    for (const key of ['cluster', 'prefix'])
      if (key in store) document.reportMeaningless(['store', key], 'beside `url`');
    return path;
  }
  if (seal?.key === undefined)
    document.report(['store', 'url'], {
      message: '`store.url` needs `seal.key`: what is stored there is sealed, and all processes need the same key',
      expected: 'a `seal.key` of at least 32 characters in this file',
    });
  if (cluster !== false && Number(new URL(url).pathname.slice(1)) !== 0)
    document.report(['store', 'url'], {
      message: '`url` has a wrong value',
      expected: 'no database but 0: a cluster has no other',
    });
  return { ...path, url, prefix, ...(cluster !== false && { cluster: cluster === true ? [] : cluster }) };
}

/** What may be shown of it. */
export function storePlace({ dir, url, cluster, prefix }: StoreConfig): string {
  if (url === undefined) return dir;
  const { protocol, username, password, pathname } = new URL(url);
  const details = [
    ...(cluster === undefined ? [] : ['a cluster']),
    ...(protocol === 'rediss:' ? ['TLS'] : []),
    ...(username === '' && password === '' ? [] : ['with a password']),
    ...(pathname.length > 1 ? [`database ${pathname.slice(1)}`] : []),
    `keys begin with ${prefix}`,
  ];
  return `Redis at ${shownNodes({ url, ...(cluster && { cluster }) })} (${details.join(', ')})`;
}

/** Undefined for what is not an address of Redis. */
function readAddress(text: string): URL | undefined {
  const url = shape.parseUrl(text);
  if (url === undefined || !['redis:', 'rediss:'].includes(url.protocol) || url.hostname === '') return undefined;
  const { pathname, search, hash, username, password } = url;
  if (search !== '' || hash !== '' || !/^(?:\/\d{0,5})?$/.test(pathname)) return undefined;
  return isEncoded(username) && isEncoded(password) ? url : undefined;
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
