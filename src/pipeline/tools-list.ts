/** The list of tools that stands behind a message at an endpoint with a budget: all that its sender may see. */

import { shownIn } from '../catalog/lists.ts';
import type { MergedList } from '../catalog/merged-list.ts';
import { shownTo } from '../policy/filtered-list.ts';
import { type MethodRow, methodRow } from '../wire/methods.ts';
import type { RequestContext } from './context.ts';
import { readerOf } from './resolve.ts';
import type { StageServices } from './services.ts';

const toolsRow = methodRow('tools/list') as MethodRow;

/** By the rules that have decided the request. */
export async function shownTools(services: StageServices, context: RequestContext): Promise<MergedList> {
  const { endpoint, authorization } = context;
  const reader = readerOf(services, context);
  const merged = await services.shared.lists.merged(endpoint, toolsRow, reader);
  const shown = shownTo(authorization.authorizer, endpoint, toolsRow, reader.principal);
  return shownIn(merged, shown === undefined ? [] : [shown]);
}
