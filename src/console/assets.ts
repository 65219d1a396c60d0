/** The built files of the pages, which stand beside the program. */
import { readFileSync } from 'node:fs';
import type { PageResponse } from '../web/request.ts';

const types = {
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'enter.js': 'text/javascript; charset=utf-8',
} as const;

/** Undefined where there is no such file. `base`: where the program is. */
export function asset(name: string, base: string = import.meta.url): PageResponse | undefined {
  if (!Object.hasOwn(types, name)) return undefined;
  try {
    const body = readFileSync(new URL(`console/${name}`, base), 'utf8');
    // They change only with the program; a browser asks again, and gets it from this machine or near it.
    const headers = { 'content-type': types[name as keyof typeof types], 'x-content-type-options': 'nosniff' };
    return { status: 200, headers: { ...headers, 'cache-control': 'no-cache' }, body };
  } catch {
    return undefined;
  }
}
