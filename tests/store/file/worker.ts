/**
 * Another process with the same store. Its first argument says what it does, its second is the directory; it says
 * `ready` once the store is open, and begins at the first line that it reads.
 */
import { once } from 'node:events';
import { StoreError } from '../../../src/store/errors.ts';
import { type FileStore, openFileStore } from '../../../src/store/file/open.ts';

const say = (line: string) => process.stdout.write(`${line}\n`);

/** Every record and every lease once; says which it won. */
async function fight({ records, lease }: FileStore): Promise<void> {
  const won: string[] = [];
  for (let i = 0; i < 200; i++) {
    if ((await records.take('taken', `${i}`)) !== undefined) won.push(`take ${i}`);
    if (await records.replace('replaced', `${i}`, 'before', `by ${process.pid}`)) won.push(`replace ${i}`);
    if ((await lease.take(`${i}`, 60_000)) !== undefined) won.push(`lease ${i}`);
    for (;;) {
      const seen = await records.get('counted', 'sum');
      if (await records.replace('counted', 'sum', seen, `${Number(seen ?? 0) + 1}`)) break;
    }
  }
  say(JSON.stringify(won));
}

/** Writes until it is killed; says each number once it is kept. */
async function write({ records }: FileStore): Promise<void> {
  for (let i = 0; ; i++) {
    await Promise.all([
      records.put('one', `${i}`, `${i}:`.repeat(500)),
      records.put('other', `${i}`, 'v', Date.now() + 1e9),
    ]);
    say(`${i}`);
  }
}

/** Writes until it can not; says why, and what can still be read. */
async function fill({ records }: FileStore): Promise<void> {
  const value = 'v'.repeat(10_000);
  for (let i = 0; i < 10_000; i++) {
    try {
      await records.put('a', `${i}`, value);
    } catch (error) {
      const again = await records.put('a', `${i}`, value).catch((second: unknown) => second);
      const kept = (await records.get('a', `${i - 1}`)) === value && (await records.get('a', `${i}`)) === undefined;
      const named = error instanceof StoreError && again instanceof StoreError;
      say(JSON.stringify({ named, kept, kind: named ? error.kind : String(error), written: i }));
      return;
    }
  }
}

const [what = '', dir = ''] = process.argv.slice(2);
const store = await openFileStore({ dir, now: Date.now, warn: (text) => say(text) }).catch((error: unknown) => {
  say(JSON.stringify({ kind: error instanceof StoreError ? error.kind : String(error) }));
  process.exit(0);
});
say('ready');
await once(process.stdin, 'data');
await new Map(Object.entries({ fight, write, fill })).get(what)?.(store);
await store.records.close();
process.stdin.destroy();
