/**
 * Every metric that Bascule writes, in one table. The page docs/observability.md, the dashboard and the alert rules are
 * checked against it. Names that begin with `mcp_` are those of OpenTelemetry's convention for MCP, which is still in
 * development: https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/mcp.md
 */

export interface MetricFamily {
  /** As OpenMetrics calls the family: a counter's samples end in `_total`, those of an info in `_info`. */
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram' | 'info';
  /** The last word of the name, where the values have a unit. */
  readonly unit?: 'seconds' | 'bytes';
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of a histogram's buckets. The last one, infinity, is implied. */
  readonly bounds?: readonly number[];
}

/** The bounds that the convention advises for operations. */
const operationBounds = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** The gateway's own part of a request is below 10 ms, where the bounds of operations have nothing. */
const overheadBounds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1];
/** Sessions and subscriptions live for minutes to days. */
const lifetimeBounds = [1, 10, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800];

const operation = ['mcp_method_name', 'gen_ai_tool_name', 'gen_ai_prompt_name', 'error_type', 'bascule_reason'];
const connection = ['mcp_protocol_version', 'network_transport'];

export const metricFamilies = {
  serverOperation: {
    name: 'mcp_server_operation_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    help: 'Requests and notifications of clients, from their arrival to the end of the response.',
    labels: ['bascule_endpoint', ...operation, ...connection],
    bounds: operationBounds,
  },
  clientOperation: {
    name: 'mcp_client_operation_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    help: 'Requests to backends, from sending them to the end of the response.',
    labels: ['bascule_backend', ...operation, ...connection],
    bounds: operationBounds,
  },
  rpcCall: {
    name: 'rpc_server_call_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    help: 'Calls of JSON-RPC services that are not MCP, from their arrival to the end of the response.',
    labels: ['bascule_endpoint', 'rpc_method', 'error_type', 'bascule_reason'],
    bounds: operationBounds,
  },
  serverSession: {
    name: 'mcp_server_session_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    help: 'Legacy sessions of clients that have ended. Modern clients have none.',
    labels: connection,
    bounds: lifetimeBounds,
  },
  overhead: {
    name: 'bascule_overhead_seconds',
    type: 'histogram',
    unit: 'seconds',
    help: 'The part of a request with a finished backend call that the gateway took itself.',
    labels: ['bascule_endpoint'],
    bounds: overheadBounds,
  },
  listenDuration: {
    name: 'bascule_listen_duration_seconds',
    type: 'histogram',
    unit: 'seconds',
    help: 'Streams of subscriptions/listen that have ended. They are not counted as operations.',
    labels: ['bascule_endpoint'],
    bounds: lifetimeBounds,
  },
  open: {
    name: 'bascule_open_requests',
    type: 'gauge',
    help: 'Requests of clients that are not answered yet, streams of subscriptions/listen included.',
    labels: ['bascule_endpoint'],
  },
  openCalls: {
    name: 'bascule_open_calls',
    type: 'gauge',
    help: 'Requests to backends that are not answered yet.',
    labels: ['bascule_backend'],
  },
  bridged: {
    name: 'bascule_bridged_calls',
    type: 'counter',
    help: 'Calls whose client and backend speak different revisions.',
    labels: ['client_revision', 'backend_revision'],
  },
  denials: {
    name: 'bascule_denials',
    type: 'counter',
    help: 'Requests and server requests that policy, a rate or a profile denied.',
    labels: ['bascule_endpoint', 'reason', 'rule'],
  },
  rateExceeded: {
    name: 'bascule_rate_exceeded',
    type: 'counter',
    help: 'Requests over a rate of the config.',
    labels: ['rate'],
  },
  httpFailures: {
    name: 'bascule_http_failures',
    type: 'counter',
    help: 'HTTP responses that report a failure, by its reason in docs/errors.md.',
    labels: ['reason'],
  },
  events: {
    name: 'bascule_events',
    type: 'counter',
    help: 'Events that were handled: noise of backends, dropped messages, lost streams.',
    labels: ['event'],
  },
  overflow: {
    name: 'bascule_metrics_overflow',
    type: 'counter',
    help: 'Label values or series that were counted as _OTHER because a family was full.',
    labels: ['family'],
  },
  pendingCalls: {
    name: 'bascule_pending_calls',
    type: 'gauge',
    help: 'Calls that wait for a retry of their modern client.',
    labels: [],
  },
  serverRequests: {
    name: 'bascule_server_requests_waiting',
    type: 'gauge',
    help: 'Server requests that clients with sessions have not answered yet.',
    labels: [],
  },
  sessions: {
    name: 'bascule_sessions',
    type: 'gauge',
    help: 'Open legacy sessions.',
    labels: ['mcp_protocol_version'],
  },
  streams: {
    name: 'bascule_open_streams',
    type: 'gauge',
    help: 'Open event streams to clients.',
    labels: [],
  },
  backendUp: {
    name: 'bascule_backend_up',
    type: 'gauge',
    help: '1 while a backend can be used, 0 while it is starting, down or refuses the gateway.',
    labels: ['bascule_backend'],
  },
  backendState: {
    name: 'bascule_backend_state',
    type: 'gauge',
    help: '1 for the state that a backend is in: starting, personal, ready, refused or down.',
    labels: ['bascule_backend', 'state'],
  },
  backendCircuit: {
    name: 'bascule_backend_circuit',
    type: 'gauge',
    help: "1 for the phase of a backend's circuit breaker: closed, doubtful, open or half-open.",
    labels: ['bascule_backend', 'phase'],
  },
  backendRevision: {
    name: 'bascule_backend_revision',
    type: 'info',
    help: 'The newest revision that was agreed on with a backend, and its era.',
    labels: ['bascule_backend', 'era', 'mcp_protocol_version'],
  },
  processes: {
    name: 'bascule_backend_processes',
    type: 'gauge',
    help: 'Processes of a stdio backend that run or are being started.',
    labels: ['bascule_backend'],
  },
  pinFile: {
    name: 'bascule_pin_file_usable',
    type: 'gauge',
    help: '1 where the pin file could be read, 0 where it could not. Absent without pins.',
    labels: ['mode'],
  },
  toolListTokens: {
    name: 'bascule_tool_list_tokens',
    type: 'gauge',
    help: 'Estimated tokens of the list of tools that was made last at an endpoint with a budget: as it is listed, and with all entries whole. Absent before the first list.',
    labels: ['bascule_endpoint', 'form'],
  },
  pinChanges: {
    name: 'bascule_pin_changes',
    type: 'gauge',
    help: 'Things that backends offer otherwise than they were pinned, since the pin file was read.',
    labels: ['mode'],
  },
  generation: {
    name: 'bascule_config_generation',
    type: 'gauge',
    help: 'The number of the config in force. It starts at 1.',
    labels: [],
  },
  reloads: {
    name: 'bascule_config_reloads',
    type: 'counter',
    help: 'Reloads of the config, by whether the new one was put in force or refused.',
    labels: ['outcome'],
  },
  auditRecords: {
    name: 'bascule_audit_records',
    type: 'counter',
    help: 'Audit records that were handed to the sink.',
    labels: [],
  },
  auditLost: {
    name: 'bascule_audit_lost',
    type: 'counter',
    help: 'Audit records that were lost: the sink was too slow, or could not be written.',
    labels: [],
  },
  logDropped: {
    name: 'bascule_log_dropped_lines',
    type: 'counter',
    help: 'Log lines that were dropped because the reader of stderr did not keep up.',
    labels: [],
  },
  build: {
    name: 'bascule_build',
    type: 'info',
    help: 'The version that runs, and the version of Node.js.',
    labels: ['version', 'node'],
  },
  cpu: {
    name: 'process_cpu_seconds',
    type: 'counter',
    unit: 'seconds',
    help: 'CPU time of the gateway, without that of its backends.',
    labels: [],
  },
  started: {
    name: 'process_start_time_seconds',
    type: 'gauge',
    unit: 'seconds',
    help: 'When the process started, in seconds since 1970.',
    labels: [],
  },
  resident: {
    name: 'process_resident_memory_bytes',
    type: 'gauge',
    unit: 'bytes',
    help: 'Resident memory.',
    labels: [],
  },
  heapUsed: {
    name: 'nodejs_heap_size_used_bytes',
    type: 'gauge',
    unit: 'bytes',
    help: 'Used part of the JavaScript heap.',
    labels: [],
  },
  heapTotal: {
    name: 'nodejs_heap_size_total_bytes',
    type: 'gauge',
    unit: 'bytes',
    help: 'Size of the JavaScript heap.',
    labels: [],
  },
  external: {
    name: 'nodejs_external_memory_bytes',
    type: 'gauge',
    unit: 'bytes',
    help: 'Memory of buffers and other objects outside the JavaScript heap.',
    labels: [],
  },
  lagMean: {
    name: 'nodejs_eventloop_lag_mean_seconds',
    type: 'gauge',
    unit: 'seconds',
    help: 'Mean delay of the event loop since the last scrape.',
    labels: [],
  },
  lagP99: {
    name: 'nodejs_eventloop_lag_p99_seconds',
    type: 'gauge',
    unit: 'seconds',
    help: '99th percentile of the delay of the event loop since the last scrape.',
    labels: [],
  },
  lagMax: {
    name: 'nodejs_eventloop_lag_max_seconds',
    type: 'gauge',
    unit: 'seconds',
    help: 'Longest delay of the event loop since the last scrape.',
    labels: [],
  },
} as const satisfies Record<string, MetricFamily>;

export type MetricName = keyof typeof metricFamilies;
