/** A backend that waits for consent lists no tools: the endpoint's instructions, and the error, say where to agree. */
import { describe, expect, it } from 'vitest';
import type { Era } from '../../../src/wire/revisions.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Headers, type Json, send } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';
import { done, Office, rows } from './office.ts';

/** What a client is told first. */
async function instructions(era: Era, url: string, credentials: Headers): Promise<string> {
  const answer: Json =
    era === 'modern'
      ? await send(url, modern({ method: 'server/discover', headers: credentials }))
      : await send(url, {
          body: initialize(),
          headers: { accept: 'application/json, text/event-stream', ...credentials },
        });
  return answer.json().result.instructions ?? '';
}

describe.each(rows)('a $client client of a $backend backend, $door endpoint', (row) => {
  const linkIn = (text: string) => /http:\S+\/connect\/[\w-]{16,}/.exec(text)?.[0];

  it(
    'gets the consent page of its own user in the instructions and in the error',
    verifies('gateway:consent:announced'),
    async () => {
      const office = await Office.open({ backend: row.backend });
      const [ada, bob] = [office.employee('ada'), office.employee('bob')];
      const told = await instructions(row.client, office.url(row.door), ada.credentials);
      const link = linkIn(told);
      expect(told).toContain('files');
      expect(link).toBeDefined();
      // Another person's link is another one.
      expect(linkIn(await instructions(row.client, office.url(row.door), bob.credentials))).not.toBe(link);
      const client = await office.client(row, ada, 'never');
      const { error } = await client.call(office.tool(row.door));
      expect(error.message).toContain(error.data.url);
      expect((await ada.person.agree(link ?? '', office.backend)).status).toBe(200);
      expect(await client.call(office.tool(row.door))).toMatchObject(done);
      expect(linkIn(await instructions(row.client, office.url(row.door), ada.credentials))).toBeUndefined();
    },
  );
});
