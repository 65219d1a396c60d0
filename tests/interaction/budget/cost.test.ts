/** What a list costs, with and without its budget, for operators. */
import { expect, it } from 'vitest';
import { showTools } from '../../../src/cli/control/ask-command.ts';
import { verifies } from '../../requirements/verifies.ts';
import { enter } from '../catalog/setup.ts';
import { openShop } from '../catalog/shop.ts';
import { type Json, send } from '../harness/client.ts';
import { bearer, keyRing } from '../harness/credentials.ts';
import { startGateway } from '../harness/gateway.ts';
import { catalog, openBudgeted } from './setup.ts';

it('the metrics have both figures once a list was made', verifies('gateway:budget:cost'), async () => {
  const { gateway } = await openBudgeted('modern');
  const read = (form: string) =>
    Number(
      new RegExp(`bascule_tool_list_tokens\\{bascule_endpoint="/mcp",form="${form}"\\} (\\d+)`).exec(
        gateway.metrics.text('openmetrics'),
      )?.[1],
    );
  expect(read('whole')).toBeNaN();
  await (await enter('modern', gateway.url())).all('tools/list');
  expect(read('whole')).toBeGreaterThan(500);
  expect(read('listed')).toBeLessThan(read('whole'));
});

it('the console’s facts and `bascule tools --cost` have them too', verifies('gateway:budget:cost'), async () => {
  const ring = keyRing();
  const ada = bearer(ring.make('ada'));
  const shop = await openShop('modern', 'office', { tools: catalog });
  const gateway = await startGateway({
    backends: { office: { url: shop.backend.url } },
    endpoints: [{ path: '/mcp', budget: { tokens: 250 } }],
    identity: { keys: { file: ring.path } },
    console: { who: {} },
  });
  const url = `${gateway.origin}/console/api/tools?endpoint=/mcp`;
  const facts = (await send(url, { method: 'GET', headers: ada })).json();
  const total = facts.tools.reduce((sum: number, { tokens }: Json) => sum + tokens, 0);
  expect(facts.cost).toMatchObject({ budget: 250, whole: total, stubs: 4 });
  expect(facts.cost.listed).toBeLessThan(total);
  const lines: string[] = [];
  const command = {
    ask: async () => facts,
    say: (line: string) => void lines.push(line),
    isJson: false,
    isLocal: true,
  };
  expect(await showTools(command, { cost: true })).toBe(0);
  expect(lines).toHaveLength(6);
  expect(lines.at(-1)).toMatch(/^ +\d+ {2}as listed within the budget of 250: 4 in short form$/);
});
