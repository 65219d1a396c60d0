/**
 * A backend that wants a person's consent in the middle of a call: the person is shown the page, agrees, and the call
 * goes on.
 * https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-for-oauth-flows
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { Json } from '../harness/client.ts';
import { done, Office, rows } from './office.ts';

describe.each(rows)('a $client client of a $backend backend, $door endpoint', (row) => {
  const tool = row.door === 'single' ? 'work' : 'files__work';
  const open = async (more: { limits?: Record<string, number> } = {}) => {
    const office = await Office.open({ backend: row.backend, ...more });
    return { office, ada: office.employee('ada') };
  };
  /** The page that an error tells of, and the error as its era has it. */
  const linkIn = (answer: Json): string => {
    const { code, data } = answer.error;
    expect(data.reason).toBe('consent_needed');
    if (row.client === 'legacy') {
      expect(code).toBe(-32042);
      expect(data.elicitations).toMatchObject([{ mode: 'url', url: data.url, elicitationId: data.elicitationId }]);
    } else expect(code).toBe(401);
    return data.url;
  };

  it(
    'gets a URL elicitation for the page, and its result once the user consented',
    verifies('gateway:credentials:asked', 'client-auth:401-triggers-flow', 'flow:oauth:authorization-code-roundtrip'),
    async () => {
      const { office, ada } = await open();
      const client = await office.client(row, ada);
      expect(await client.call(tool)).toMatchObject(done);
      expect(await client.call(tool)).toMatchObject(done);
      expect(client.asked).toEqual([expect.stringMatching(`^${office.gateway.origin}/connect/[\\w-]{16,}$`)]);
      expect(office.backend.issuer.tokenRequests('authorization_code')).toHaveLength(1);
      const calls = office.backend.inner.of('tools/call');
      expect(calls.map((call) => office.backend.ownerOf(call))).toEqual(['ada', 'ada']);
      for (const { text } of calls) expect(text).not.toMatch(/requestState|inputResponses/);
    },
  );

  it(
    'gets its result also if the user takes longer than the client',
    verifies('gateway:credentials:asked'),
    async () => {
      const { office, ada } = await open();
      let page: Promise<unknown> = Promise.resolve();
      const client = await office.client(row, ada, async (link) => {
        page = new Promise((resolve) => setTimeout(resolve, 100)).then(() => ada.person.agree(link, office.backend));
        return 'accept';
      });
      expect(await client.call(tool)).toMatchObject(done);
      await page;
      expect(client.asked).toHaveLength(1);
    },
  );

  it(
    'gets the page in an error if it has no URL elicitation, and is served once the user consented',
    verifies('gateway:credentials:told'),
    async () => {
      const { office, ada } = await open();
      const client = await office.client(row, ada, 'never');
      const link = linkIn(await client.call(tool));
      // The same page as long as it is good.
      expect(linkIn(await client.call(tool))).toBe(link);
      expect((await ada.person.agree(link, office.backend)).status).toBe(200);
      expect(await client.call(tool)).toMatchObject(done);
    },
  );

  it.each(['decline', 'cancel'] as const)(
    'gets an error if it answers with %s',
    verifies('gateway:credentials:refused'),
    async (action) => {
      const { office, ada } = await open();
      const client = await office.client(row, ada, async () => action);
      const { error } = await client.call(tool);
      expect(error.data.reason).toBe('ask_declined');
      expect(client.asked).toHaveLength(1);
      expect(office.backend.inner.of('tools/call')).toEqual([]);
    },
  );

  it(
    'gets an error if the user declines at the authorization server',
    verifies('gateway:credentials:refused'),
    async () => {
      const { office, ada } = await open();
      const client = await office.client(row, ada, async (link) => {
        const page = await ada.person.refuse(link, office.backend);
        expect(page.status).toBe(400);
        return 'accept';
      });
      const { error } = await client.call(tool);
      expect(error.data.reason).toBe('consent_refused');
      expect(office.backend.inner.of('tools/call')).toEqual([]);
    },
  );

  it(
    'gets an error if the user does not consent in time, and the page stays valid',
    verifies('gateway:credentials:refused'),
    async () => {
      const { office, ada } = await open({ limits: { askMs: 300 } });
      let link = '';
      const client = await office.client(row, ada, async (shown) => {
        link = shown;
        return 'accept';
      });
      const { error } = await client.call(tool);
      expect(error.data).toMatchObject({ reason: 'consent_pending', url: link });
      expect((await ada.person.agree(link, office.backend)).status).toBe(200);
      expect(await client.call(tool)).toMatchObject(done);
      expect(client.asked).toHaveLength(1);
    },
  );
});
