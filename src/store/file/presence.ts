/**
 * Which processes have the store open. A process that ended without closing the store was killed, or a damaged page
 * crashed it: LMDB trusts the pages that it maps. After such an end, every page is checked before the store is opened.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unusable } from '../errors.ts';

const PRESENT = /^open-(\d+)-[0-9a-f-]+$/;

/** The files of this process. Its pid alone may be that of an earlier process, as in a container. */
const mine = new Set<string>();

export interface Presence {
  /**
   * The files of killed processes. They stay until `forget`, so that a damaged store is checked again at the next
   * start.
   */
  readonly lost: readonly string[];
  forget(): void;
  leave(): void;
  /** Exits like a killed process, so that the next start checks the store again. */
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
        // One such file is enough, however many starts fail.
        if (lost.length > 0) remove(name);
      },
    };
  } catch (error) {
    throw unusable(dir, 'written', error, 'give this user write permission, and free some space if the disk is full');
  }
}

function isPresent(file: string): boolean {
  const pid = Number(PRESENT.exec(file)?.[1]);
  if (pid === process.pid) return mine.has(file);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process exists and belongs to a different user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
