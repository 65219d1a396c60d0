/** Tokens for backends, at three replicas. */
import { expect, it } from 'vitest';
import { caller } from '../interaction/credentials/caller.ts';
import { GuardedBackend, oauth } from '../interaction/credentials/guarded-backend.ts';
import { done } from '../interaction/credentials/office.ts';
import { Person } from '../interaction/credentials/person.ts';
import type { Json } from '../interaction/harness/client.ts';
import { bearer, keyRing } from '../interaction/harness/credentials.ts';
import { modern } from '../interaction/harness/eras.ts';
import { verifies } from '../requirements/verifies.ts';
import { REPLICAS, startReplicas } from './replicas.ts';

const CALLS = 1_000;

it(
  'a thousand calls over three replicas refresh an expired token once, and none of them fails',
  verifies('gateway:credentials:refresh-once'),
  async () => {
    const backend = await GuardedBackend.open({ era: 'modern' });
    const ring = keyRing();
    const key = ring.make('ada');
    const { origin, all, balancer } = await startReplicas({
      backends: { files: { url: backend.url, auth: oauth } },
      identity: { keys: { file: ring.path } },
      // All are answered with JSON, however long they wait.
      limits: { sseAfterMs: 60_000 },
    });
    const [first] = all;
    const credentials = bearer(key);
    const client = await caller({ era: 'modern', url: first?.url('files') ?? '', credentials });
    const { error } = await client.call('work');
    expect(error?.data, JSON.stringify(error)).toHaveProperty('url');
    // What the consent brings has expired when it is used.
    backend.issuer.lifetime = 1;
    const page = await new Person('ada', first?.origin ?? '', key).agree(error.data.url, backend);
    expect(page.status, page.text).toBe(200);
    backend.issuer.lifetime = 3600;

    const answers = await Promise.all(
      Array.from({ length: CALLS }, async (_, id) => {
        const { headers, body } = modern({ id, method: 'tools/call', params: { name: 'work' }, headers: credentials });
        const answer = await fetch(`${origin}/servers/files/mcp`, {
          method: 'POST',
          headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
          body: JSON.stringify(body),
        });
        return (await answer.json()) as Json;
      }),
    );
    for (const answer of answers) expect(answer).toMatchObject(done);
    expect(backend.issuer.tokenRequests('refresh_token')).toHaveLength(1);
    const shares = all.map((replica) => balancer.log.filter((one) => one.replica === replica).length);
    expect(Math.min(...shares)).toBeGreaterThan(CALLS / (2 * REPLICAS));
  },
);
