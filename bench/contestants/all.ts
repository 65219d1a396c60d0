/** Everybody who takes part in `npm run bench`. */
import { bascule, basculeStdio } from './bascule.ts';
import type { Contestant } from './contestant.ts';
import { direct } from './direct.ts';
import { edges } from './edges.ts';
import { askingForKeys, askingForTokens, askingNothing, ignoringKeys } from './identity.ts';
import { basculeLists, basculeMerged, fromMemory, singleEndpoint } from './many.ts';
import { mcpProxy } from './mcp-proxy.ts';
import { notObserved, withMetrics, withRequestLog } from './observe.ts';
import { bridge, passThrough } from './pass-through.ts';
import { mergedAlone, usualDeployment, withKeyAndRules, withNoRules, withRules } from './policy.ts';
import { tracingAll, tracingFew, withoutTraces } from './traces.ts';

export const contestants: readonly Contestant[] = [
  direct,
  passThrough,
  bascule,
  bridge,
  basculeStdio,
  mcpProxy,
  fromMemory,
  basculeLists,
  singleEndpoint,
  basculeMerged,
  askingNothing,
  ignoringKeys,
  askingForKeys,
  askingForTokens,
  withNoRules,
  withRules,
  withKeyAndRules,
  mergedAlone,
  usualDeployment,
  notObserved,
  withMetrics,
  withRequestLog,
  withoutTraces,
  tracingFew,
  tracingAll,
  ...edges,
];
