/**
 * The gateway process has one table of file descriptors. When it is full, no backend is to blame: the failure has its
 * own name, and listeners here learn of it.
 */
import { Failure } from '../errors/failure.ts';

/** What the system refused to open. */
export type DescriptorUse = 'connection' | 'process';

const listeners = new Set<(wanted: DescriptorUse) => void>();

/** Calls the listener whenever the system refuses a descriptor. Returns how to unsubscribe. */
export function onOutOfDescriptors(listener: (wanted: DescriptorUse) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Undefined where the cause is a different error. EMFILE: the limit of this process; ENFILE: that of the machine. */
export function outOfDescriptors(cause: unknown, wanted: DescriptorUse): Failure | undefined {
  const { code } = (cause ?? {}) as { code?: unknown };
  if (code !== 'EMFILE' && code !== 'ENFILE') return undefined;
  for (const listener of listeners) listener(wanted);
  return new Failure('out_of_descriptors', { cause, cure: cures[code] });
}

const cures = {
  EMFILE: 'raise the limit of the gateway (`ulimit -n`, `LimitNOFILE=`), or lower `limits.connectionsTotal`',
  ENFILE: 'raise the limit of the machine (`fs.file-max`)',
} as const;
