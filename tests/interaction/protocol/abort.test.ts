/** A client that gives up a call: official client and server of one era, with the gateway between them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { Gate } from '../harness/gate.ts';
import { launchPair, type PlainPair } from '../harness/pairs.ts';

describe.each(eras)('a call that its client aborts, %s', (era) => {
  let pair: PlainPair;
  const aborted: string[] = [];
  const sessions = new Set<unknown>();
  let gate = new Gate();
  beforeAll(async () => {
    pair = await launchPair(
      era,
      { capabilities: { tools: {} } },
      {
        'tools/call': async ({ name }, { signal, session }) => {
          sessions.add(session);
          if (name === 'quick') return { content: [{ type: 'text', text: name }] };
          await Promise.race([
            gate.opened,
            new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
          ]);
          if (signal.aborted) aborted.push(name);
          return { content: [{ type: 'text', text: name }] };
        },
      },
    );
  });
  afterAll(() => pair.close());

  it(
    'is stopped at the backend, the others go on, and so does the session',
    verifies('protocol:cancel:abort-signal', 'protocol:cancel:abort-scoped', 'protocol:cancel:server-survives'),
    async () => {
      const client = await pair.connect();
      gate = new Gate();
      aborted.length = 0;
      pair.seen.length = 0;
      const giveUp = new AbortController();
      const first = pair.call(client, { name: 'first' }, { signal: giveUp.signal });
      const second = pair.call(client, { name: 'second' }, {});
      const refused = first.then(
        () => 'answered',
        () => 'given up',
      );
      await until(() => pair.seen.length === 2, 'both calls run');
      giveUp.abort('enough');
      expect(await refused).toBe('given up');
      await until(() => aborted.length > 0, 'the backend stopped');
      expect(aborted).toEqual(['first']);
      const quick: Json = await client.callTool({ name: 'quick' });
      expect(quick.content).toEqual([{ type: 'text', text: 'quick' }]);
      gate.open();
      expect((await second).content).toEqual([{ type: 'text', text: 'second' }]);
      expect(aborted).toEqual(['first']);
      expect(sessions.size).toBe(1);
    },
  );
});
