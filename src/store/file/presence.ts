/**
 * Who has the store open. A process that ended without leaving was killed, or the store has killed it: LMDB trusts the pages
 * that it maps, and a damaged one can end the process. So after such an end somebody looks at every page first.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StoreError } from '../errors.ts';

const PRESENT = /^open-(\d+)-[0-9a-f-]+$/;

/** Those of this process: its number alone may be that of one before it, as in a container. */
const mine = new Set<string>();

export interface Presence {
  /** Their files stay until `forget`: a store that was found damaged is looked at again at the next start. */
  readonly lost: readonly string[];
  forget(): void;
  leave(): void;
  /** Leaves as one that is lost: the next start looks again. */
  abandon(): void;
}

export function enter(dir: string): Presence {
  const name = `open-${process.pid}-${randomUUID()}`;
  mine.add(name);
  const remove = (file: string) => rmSync(join(dir, file), { force: true });
  try {
    const lost = readdirSync(dir).filter((file) => PRESENT.test(file) && !isPresent(file));
    writeFileSync(join(dir, name), '', { mode: 0o600 });
    return {
      lost,
      forget: () => lost.forEach(remove),
      leave: () => {
        mine.delete(name);
        remove(name);
      },
      abandon: () => {
        mine.delete(name);
        // One trace is enough, however often it is tried.
        if (lost.length > 0) remove(name);
      },
    };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StoreError(
      'unusable',
      `${dir} cannot be written (${code}): this user must be able to, and have room`,
      error,
    );
  }
}

function isPresent(file: string): boolean {
  const pid = Number(PRESENT.exec(file)?.[1]);
  if (pid === process.pid) return mine.has(file);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It is there, and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
