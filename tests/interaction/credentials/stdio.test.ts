/** Over stdio there is no address to come by; the pages are on this machine all the same. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { eras, initialize, modernMeta } from '../harness/eras.ts';
import { configFile, StdioClient } from '../harness/program.ts';
import { GuardedBackend, oauth } from './guarded-backend.ts';
import { done } from './office.ts';
import { Person } from './person.ts';

describe('a client that started the gateway over stdio', verifies('gateway:credentials:told'), () => {
  it.each(eras)(
    'gets the address of a page on this machine, and is served once the user consented there (%s)',
    async (era) => {
      const backend = await GuardedBackend.open({ era });
      const dir = mkdtempSync(join(tmpdir(), 'bascule-stdio-'));
      onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
      const config = {
        backends: { files: { url: backend.url, auth: oauth } },
        store: { dir },
        listen: { port: 0 },
      };
      const client = new StdioClient(configFile(config));
      if (era === 'legacy') await client.ask(initialize());
      const meta = era === 'modern' ? { _meta: modernMeta() } : {};
      const call = (id: number) => ({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'work', arguments: {}, ...meta },
      });
      const { error } = await client.ask(call(1));
      expect(error.data.reason).toBe('consent_needed');
      const link = new URL(error.data.url);
      expect(link.hostname).toBe('127.0.0.1');
      const page = await new Person('ada', link.origin).agree(link.href, backend);
      expect(page.status).toBe(200);
      expect(await client.ask(call(2))).toMatchObject(done);
    },
  );
});
