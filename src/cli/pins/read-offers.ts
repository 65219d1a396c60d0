/** Reads what the backends of a config offer, as `bascule pins` compares it: in their own names and bytes. */
import { type Assembled, assemble } from '../../app/assemble.ts';
import { ModernReader } from '../../catalog/readers.ts';
import type { Config } from '../../config/config.ts';
import type { Backend } from '../../exchange/upstream-session.ts';
import { localPrincipal } from '../../identity/principal.ts';
import { Counters } from '../../observe/counters.ts';
import type { Log } from '../../observe/log.ts';
import { pinnedLists } from '../../pins/ports.ts';
import { about } from '../../wire/about.ts';
import { readCapabilities } from '../../wire/capabilities.ts';
import { methods } from '../../wire/methods.ts';
import { newest, type Revision, revisions } from '../../wire/revisions.ts';
import type { Offer, ReadOffers } from './command.ts';

const client = {
  revision: newest(revisions, 'modern') as Revision,
  info: JSON.stringify({ name: 'bascule-pins', version: about.version }),
  capabilities: readCapabilities({}),
};

/** Only for reading lists: nothing is served, recorded or held. */
export async function readOffers(config: Config, remark: (text: string) => void): Promise<ReadOffers> {
  const { pins: _pins, audit: _audit, policy: _policy, console: _console, ...rest } = config;
  const tell = (facts: Readonly<Record<string, unknown>>, text: string) => remark(`${text} ${JSON.stringify(facts)}`);
  const silent = () => undefined;
  const log: Log = { debug: silent, info: silent, warn: tell, error: tell };
  const assembled = assemble({ ...rest, rates: [] }, { log, counters: new Counters(), overHttp: false });
  try {
    await assembled.open('http://localhost');
    const all = await Promise.all([...assembled.backends].map((backend) => offersOf(assembled, backend)));
    return {
      offers: all.flatMap(({ offers }) => offers),
      unread: all.flatMap(({ unread }) => unread),
      backends: [...assembled.backends].map(({ name }) => name),
    };
  } finally {
    await assembled.close(0);
  }
}

type BackendOffers = Pick<ReadOffers, 'offers' | 'unread'>;

async function offersOf({ shared }: Assembled, backend: Backend): Promise<BackendOffers> {
  const { name } = backend;
  const missing = (why: string): BackendOffers => ({ offers: [], unread: [{ backend: name, why }] });
  if (backend.ownOf !== undefined) return missing('each person has an account of their own there');
  const offers: Offer[] = [];
  try {
    const { instructions } = await backend.discover();
    if (instructions !== undefined)
      offers.push({ backend: name, kind: 'instructions', name: '', bytes: Buffer.from(JSON.stringify(instructions)) });
  } catch (error) {
    return missing(error instanceof Error ? error.message : 'it cannot be reached');
  }
  const reader = new ModernReader(shared.upstreams, localPrincipal(new Set()), client);
  for (const row of methods) {
    const kind = row.list === undefined ? undefined : pinnedLists[row.list];
    if (kind === undefined) continue;
    const part = await shared.lists.parts.part(name, row, reader);
    if (part !== undefined && 'reason' in part) return missing(`${row.method}: ${part.reason}`);
    for (const { key, bytes } of part?.entries ?? []) offers.push({ backend: name, kind, name: key, bytes });
  }
  return { offers, unread: [] };
}
