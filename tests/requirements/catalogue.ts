/**
 * What is asked of Bascule, one row a requirement. The ids of the first part are those that the suites of the official
 * SDKs share; `gateway:` are ours. A row of the first part that is held is held for a client and a backend of one era;
 * what crosses between the eras has rows of its own under `gateway:bridge`.
 */
import type { Catalogue, Requirement } from './requirement.ts';
import { auth } from './rows/auth.ts';
import { features } from './rows/features.ts';
import { flows } from './rows/flows.ts';
import { gatewayAccess } from './rows/gateway-access.ts';
import { gatewayApproval } from './rows/gateway-approval.ts';
import { gatewayAuthServer } from './rows/gateway-authserver.ts';
import { gatewayBackend } from './rows/gateway-backend.ts';
import { gatewayBridge } from './rows/gateway-bridge.ts';
import { gatewayBudget } from './rows/gateway-budget.ts';
import { gatewayCatalog } from './rows/gateway-catalog.ts';
import { gatewayConnections } from './rows/gateway-connections.ts';
import { gatewayConsent } from './rows/gateway-consent.ts';
import { gatewayConsole } from './rows/gateway-console.ts';
import { gatewayCore } from './rows/gateway-core.ts';
import { gatewayCounts } from './rows/gateway-counts.ts';
import { gatewayCredentials } from './rows/gateway-credentials.ts';
import { gatewayEdges } from './rows/gateway-edges.ts';
import { gatewayExtensions } from './rows/gateway-extensions.ts';
import { gatewayFront } from './rows/gateway-front.ts';
import { gatewayInspect } from './rows/gateway-inspect.ts';
import { gatewayJsonRpc } from './rows/gateway-json-rpc.ts';
import { gatewayLegacy } from './rows/gateway-legacy.ts';
import { gatewayLog } from './rows/gateway-log.ts';
import { gatewayModern } from './rows/gateway-modern.ts';
import { gatewayObserve } from './rows/gateway-observe.ts';
import { gatewayOverrides } from './rows/gateway-overrides.ts';
import { gatewayProxy } from './rows/gateway-proxy.ts';
import { gatewayReload } from './rows/gateway-reload.ts';
import { gatewayReplicas } from './rows/gateway-replicas.ts';
import { gatewayRun } from './rows/gateway-run.ts';
import { gatewayStore } from './rows/gateway-store.ts';
import { gatewayTasks } from './rows/gateway-tasks.ts';
import { gatewayTraces } from './rows/gateway-traces.ts';
import { gatewayWorkers } from './rows/gateway-workers.ts';
import { hosting } from './rows/hosting.ts';
import { lifecycle } from './rows/lifecycle.ts';
import { protocol } from './rows/protocol.ts';
import { sdk } from './rows/sdk.ts';
import { serverRequests } from './rows/server-requests.ts';
import { tasks } from './rows/tasks.ts';
import { tools } from './rows/tools.ts';
import { transport } from './rows/transport.ts';

/**
 * In the order of reading. Kept apart from the joined catalogue so that a test can see an id that stands in two of
 * them.
 */
export const groups = {
  lifecycle,
  protocol,
  tools,
  features,
  serverRequests,
  flows,
  transport,
  hosting,
  auth,
  tasks,
  sdk,
  gatewayFront,
  gatewayLegacy,
  gatewayConnections,
  gatewayLog,
  gatewayReplicas,
  gatewayWorkers,
  gatewayCounts,
  gatewayTasks,
  gatewayTraces,
  gatewayModern,
  gatewayObserve,
  gatewayBackend,
  gatewayBridge,
  gatewayCatalog,
  gatewayEdges,
  gatewayBudget,
  gatewayExtensions,
  gatewayCore,
  gatewayRun,
  gatewayAccess,
  gatewayApproval,
  gatewayConsent,
  gatewayConsole,
  gatewayAuthServer,
  gatewayStore,
  gatewayJsonRpc,
  gatewayCredentials,
  gatewayOverrides,
  gatewayProxy,
  gatewayReload,
  gatewayInspect,
};

type Groups = typeof groups;

/** Every id, as a type: a test that declares another one does not compile. */
export type RequirementId = { [Name in keyof Groups]: keyof Groups[Name] }[keyof Groups];

export const catalogue: Catalogue = Object.fromEntries(
  Object.values(groups).flatMap((group) => Object.entries<Requirement>(group)),
);
