/** The example of docs/policy.md does what it says. The address that is made up there is a real one here. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { verifies } from '../../requirements/verifies.ts';
import { ask, openShop, tell } from './setup.ts';

const page = readFileSync(new URL('../../../docs/policy.md', import.meta.url), 'utf8');
const example = /## JSON-RPC services\n[\s\S]*?```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';

it(
  'the documented example is served, and denies as documented',
  verifies('gateway:json-rpc:method-rules'),
  async () => {
    const { backends, endpoints, policy } = parse(example);
    expect([backends.ledger.protocol, endpoints[0].protocol]).toEqual(['json-rpc', 'json-rpc']);
    const shop = await openShop({ endpoint: endpoints[0], more: { policy } });
    const cases = [
      { body: ask('balance'), passes: true },
      { body: ask('list_accounts'), passes: true },
      { body: ask('list_keys'), passes: false },
      { body: ask('pay', { amount: 5 }), passes: true },
      { body: ask('pay', { amount: 500 }), passes: false },
      { body: ask('pay', [5]), passes: false },
      { body: tell('wipe'), passes: false },
      { body: [ask('balance'), ask('wipe', undefined, 2)], passes: false },
      { body: [ask('balance'), ask('pay', { amount: 5 }, 2)], passes: true },
    ];
    for (const { body, passes } of cases) {
      shop.service.forget();
      await shop.post(body);
      expect({ body, passes: shop.service.bytes > 0 }).toEqual({ body, passes });
    }
  },
);
