/** An endpoint with a budget, in front of shops with many tools. */
import type { Era } from '../../../src/wire/revisions.ts';
import { openMarket } from '../catalog/setup.ts';
import { type Goods, openShop, type Shop } from '../catalog/shop.ts';
import type { Json } from '../harness/client.ts';
import type { ConfigValue, TestGateway } from '../harness/gateway.ts';

const filler = 'It is described at length, so that whole entries need more room than the budget has. '.repeat(4);

/** A tool with a long description and a required argument. */
export function bulky(name: string, does: string, more: Json = {}): Json {
  return {
    name,
    description: `${does}. ${filler}`,
    inputSchema: { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] },
    annotations: { readOnlyHint: true },
    ...more,
  };
}

export const catalog: readonly Json[] = [
  bulky('delete_invoice', 'Deletes an invoice'),
  bulky('archive_ticket', 'Archives a support ticket'),
  bulky('send_letter', 'Sends a letter by post'),
  bulky('weigh_parcel', 'Weighs a parcel'),
];

export interface Budgeted {
  readonly gateway: TestGateway;
  readonly shops: readonly Shop[];
}

/** `merged`: two shops behind the endpoint, `office` with all tools and `annex` with one. */
export async function openBudgeted(
  era: Era,
  {
    merged = true,
    tokens = 300,
    goods = {},
    endpoint = {},
  }: {
    merged?: boolean;
    tokens?: number;
    goods?: Goods;
    endpoint?: ConfigValue;
  } = {},
): Promise<Budgeted> {
  const office = await openShop(era, 'office', { tools: catalog, ...goods });
  const shops = merged
    ? [office, await openShop(era, 'annex', { tools: [bulky('paint_wall', 'Paints a wall')] })]
    : [office];
  const gateway = await openMarket(shops, { endpoint: { budget: { tokens }, ...endpoint } });
  return { gateway, shops };
}

export const isStub = ({ _meta }: Json): boolean => _meta?.['bascule/stub'] === true;
