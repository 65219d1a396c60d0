/** `_meta` that the protocol does not own belongs to the two ends. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import type { Json } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { launchPair, type PlainPair } from '../harness/pairs.ts';

const own = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'example.com/tenant': { id: 7, tags: ['a', null], deep: { n: 1.5 } },
  plain: 'ü',
};

describe.each(eras)('_meta between SDKs, %s', (era) => {
  let pair: PlainPair;
  const metas: Json[] = [];
  beforeAll(async () => {
    const answer =
      (result: object) =>
      (_params: Json, { meta }: { meta: Json }) => {
        metas.push(meta);
        return { ...result, _meta: own };
      };
    pair = await launchPair(
      era,
      { capabilities: { tools: {}, prompts: {}, resources: {} } },
      {
        'tools/call': answer({ content: [] }),
        'prompts/get': answer({ messages: [] }),
        'resources/read': answer({ contents: [] }),
      },
    );
  });
  afterAll(() => pair.close());

  it(
    'of a request reaches the server, and of a result the client',
    verifies('meta:request-to-handler', 'meta:result-to-client'),
    async () => {
      const client = await pair.connect();
      const results = [
        await client.callTool({ name: 't', _meta: own }),
        await client.getPrompt({ name: 'p', _meta: own }),
        await client.readResource({ uri: 'a:b', _meta: own }),
      ];
      expect(metas).toHaveLength(3);
      for (const meta of metas) expect(meta).toMatchObject(own);
      for (const { _meta } of results) expect(_meta).toMatchObject(own);
    },
  );
});
