/** Every revision of client with every revision of backend: what crosses, what is degraded, and what is refused. */
import { describe, expect, it } from 'vitest';
import { olderRows } from '../../../src/bridge/revision-compat.ts';
import { type Revision, revisions } from '../../../src/wire/revisions.ts';
import type { RequirementId } from '../../requirements/catalogue.ts';
import { verifies } from '../../requirements/verifies.ts';
import { record } from './cells.ts';
import { declared, items, serverInfo } from './revisions.ts';
import { setStage } from './stage.ts';
import type { Transport } from './wires.ts';
import { works } from './words.ts';

/** The first revision has a transport of its own. */
const over = (revision: Revision): Transport => (revision === '2024-11-05' ? 'sse' : 'http');

for (const client of revisions) for (const backend of revisions) pair(client, backend);

function pair(client: Revision, backend: Revision): void {
  describe(`client ${client}, backend ${backend}`, () => {
    const has = items.filter(({ since, until = backend }) => since <= backend && backend <= until);
    for (const item of has) {
      const { name, act, declares, expect: outcome } = item;
      const changed = outcome(client, backend) !== works;
      const proven: readonly RequirementId[] = changed ? ['gateway:bridge:older-content'] : [];
      it(name, verifies('gateway:bridge:all-revision-pairs', ...proven), async ({ task }) => {
        const { deeds, run } = act(backend);
        const stage = await setStage({
          client: { revision: client, transport: over(client) },
          backend: { revision: backend, transport: over(backend) },
          capabilities: declares ?? declared(client),
          deeds,
          about: { serverInfo: serverInfo(backend) },
        });
        const words = await run(stage);
        expect(words).toBe(outcome(client, backend));
        const transports = `${over(client)}, ${over(backend)}`;
        record(task, {
          table: 'revisions',
          row: name,
          place: items.indexOf(item),
          column: `${client}, ${backend}`,
          over: transports,
          words,
        });
      });
    }
  });
}

describe('what older revisions get instead', verifies('gateway:bridge:older-content'), () => {
  it.each(olderRows.map((row) => ({ row, what: row.what })))('is tested: $what', ({ row }) => {
    expect(items.some(({ tries }) => tries?.(row))).toBe(true);
  });
});
