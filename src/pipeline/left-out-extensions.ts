/** Logs, once each, the extensions that backends declare and the gateway does not carry. */
import type { Endpoint } from '../exchange/arrival.ts';
import type { Discovery } from '../exchange/upstream-session.ts';
import type { Warn } from '../observe/ports.ts';
import { extensionsIn } from '../wire/declared-extensions.ts';
import { isCarried } from '../wire/extensions.ts';
import { newest, type Revision, revisions } from '../wire/revisions.ts';

/** The most extensions that are logged: backends choose the names. */
const TOLD = 100;
const ID_LENGTH = 128;

const newestRevision = newest(revisions) as Revision;
/** By the log of a gateway. */
const told = new WeakMap<Warn, Set<string>>();
const seen = new WeakSet<Discovery>();

export function tellLeftOut(warn: Warn, { path, extensions: choices }: Endpoint, discovery: Discovery): void {
  if (seen.has(discovery)) return;
  seen.add(discovery);
  const known = told.get(warn) ?? new Set();
  told.set(warn, known);
  for (const id of Object.keys(extensionsIn(discovery.capabilities))) {
    const isDenied = choices !== undefined && Object.hasOwn(choices, id);
    if (isDenied || known.size >= TOLD || known.has(id) || isCarried(id, newestRevision, choices)) continue;
    known.add(id);
    const extension = id.slice(0, ID_LENGTH);
    warn('an extension of a backend was left out: the gateway does not carry it', { endpoint: path, extension });
  }
}
