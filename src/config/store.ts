/** `store`: the directory for state that must outlive the process. */
import { createHash } from 'node:crypto';
import { dirname, join, resolve } from 'node:path';
import type * as z from 'zod';
import * as shape from './shapes.ts';

export const storeShape = shape.closed('a map with `dir`', { dir: shape.oneLine.optional() });

export function storeIn(
  draft: z.infer<typeof storeShape> | undefined,
  directory: string,
): { readonly dir: string } | undefined {
  return draft?.dir === undefined ? undefined : { dir: resolve(directory, draft.dir) };
}

/**
 * The XDG base directory for state, with one directory for each config file: two gateways on one machine share neither
 * keys nor grants unless configured to. Without a home directory, it is beside the config.
 */
export function usualStoreDir(env: Readonly<Record<string, string | undefined>>, source: string): string {
  const { XDG_STATE_HOME: state, HOME: home } = env;
  const base = state?.startsWith('/') ? state : home ? join(home, '.local', 'state') : undefined;
  if (base === undefined) return join(dirname(source), '.bascule');
  return join(base, 'bascule', createHash('sha256').update(source).digest('hex').slice(0, 12));
}
