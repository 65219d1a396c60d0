/** A backend that waits for consent lists no tools: the endpoint's instructions, and the error, say where to agree. */
import { describe, expect, it } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Headers, type Json, send } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';
import { agreed, discovered, type Script } from '../harness/http-backend.ts';
import { done, Office, rows } from './office.ts';

/** What a client is told first. */
async function told(era: Era, url: string, credentials: Headers): Promise<string> {
  const answer: Json =
    era === 'modern'
      ? await send(url, modern({ method: 'server/discover', headers: credentials }))
      : await send(url, {
          body: initialize(),
          headers: { accept: 'application/json, text/event-stream', ...credentials },
        });
  return answer.json().result.instructions ?? '';
}

/** A backend with instructions of its own. */
function introducing(era: Era, instructions: string): Script {
  if (era === 'modern') return { 'server/discover': (turn) => turn.result(discovered({ instructions })) };
  return {
    initialize: (turn) => {
      const result = agreed(turn.message, { instructions });
      turn.json({ jsonrpc: '2.0', id: turn.message.id, result }, 200, { 'mcp-session-id': 'upstream' });
    },
  };
}

describe.each(rows)('a $client client of a $backend backend, $door endpoint', (row) => {
  const linkIn = (text: string) => /http:\S+\/connect\/[\w-]{16,}/.exec(text)?.[0];

  it(
    'gets the consent page of its own user in the instructions and in the error',
    verifies('gateway:consent:announced'),
    async () => {
      const office = await Office.open({ backend: row.backend });
      const [ada, bob] = [office.employee('ada'), office.employee('bob')];
      const first = await told(row.client, office.url(row.door), ada.credentials);
      const link = linkIn(first);
      expect(first).toContain('files');
      expect(link).toBeDefined();
      const list = `${office.gateway.origin}/connect lists all`;
      expect(first).toContain(list);
      // Another person's link is another one.
      expect(linkIn(await told(row.client, office.url(row.door), bob.credentials))).not.toBe(link);
      const client = await office.client(row, ada, 'never');
      const { error } = await client.call(office.tool(row.door));
      expect(error.message).toContain(error.data.url);
      expect(error.message).toContain(list);
      expect((await ada.person.agree(link ?? '', office.backend)).status).toBe(200);
      expect(await client.call(office.tool(row.door))).toMatchObject(done);
      expect(linkIn(await told(row.client, office.url(row.door), ada.credentials))).toBeUndefined();
    },
  );

  it(
    'of a backend that everyone may discover gets the page beside the own instructions of the backend',
    verifies('gateway:consent:announced'),
    async () => {
      const instructions = 'Ask for work.';
      const office = await Office.open({ backend: row.backend, script: introducing(row.backend, instructions) });
      office.backend.isOpenTo = (text) => !/"method":"tools\//.test(text);
      const [ada, bob] = [office.employee('ada'), office.employee('bob')];
      const before = await told(row.client, office.url(row.door), ada.credentials);
      expect(before).toContain(instructions);
      expect(linkIn(before)).toBeUndefined();
      const client = await office.client(row, ada, 'never');
      const { error } = await client.call(office.tool(row.door));
      const after = await told(row.client, office.url(row.door), ada.credentials);
      expect(after).toContain(instructions);
      expect(linkIn(after)).toBe(error.data.url);
      expect(await told(row.client, office.url(row.door), bob.credentials)).toBe(before);
      expect((await ada.person.agree(error.data.url, office.backend)).status).toBe(200);
      expect(await told(row.client, office.url(row.door), ada.credentials)).toBe(before);
    },
  );
});
