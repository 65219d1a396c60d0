/** Metrics, the request log and request ids. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayObserve = {
  'gateway:observe:operations': held({
    spec: 'gateway',
    behaviour:
      'Operations of clients and calls to backends are histograms under the names of the OpenTelemetry convention, by method, tool, kind of error and revision; calls between revisions are counted by pair.',
  }),
  'gateway:observe:sessions': held({
    spec: 'gateway',
    behaviour: 'Legacy sessions are counted by revision while they live, and by duration when they have ended.',
  }),
  'gateway:observe:denials': held({
    spec: 'gateway',
    behaviour: 'Denials are counted by reason and rule, requests over a rate by the rate, HTTP failures by reason.',
  }),
  'gateway:observe:cardinality': held({
    spec: 'gateway',
    behaviour:
      'Label values come from tables of the gateway: made-up methods, tools, sessions, revisions, clients and paths add no series, and listed names add series up to a bound.',
  }),
  'gateway:observe:listener': held({
    spec: 'gateway',
    behaviour:
      'Metrics are served in OpenMetrics or Prometheus text on a listener of their own, on loopback unless the config allows the network.',
  }),
  'gateway:observe:prometheus': held({
    spec: 'gateway',
    behaviour:
      'A real Prometheus scrapes the gateway under traffic, answers every query of the shipped dashboard and evaluates every shipped alert rule.',
  }),
  'gateway:observe:request-log': held({
    spec: 'gateway',
    behaviour:
      'With `log.requests` every message of a client is one log line: request id, principal, address, client, endpoint, method, name, backend, status, outcome and duration, without arguments.',
  }),
  'gateway:observe:stdio': held({
    spec: 'gateway',
    behaviour:
      '`bascule stdio` has the request log, on stderr, and serves metrics; where their address is taken, it warns and serves its client without them.',
  }),
  'gateway:observe:json-rpc': held({
    spec: 'gateway',
    behaviour:
      'Each call of a JSON-RPC service that is not MCP is a line of the request log and is counted, by methods that rules of the config spell out; every other method is `_OTHER`.',
  }),
  'gateway:observe:request-id': held({
    spec: 'gateway',
    behaviour:
      '`X-Request-Id` of a client is answered and logged where it is safe to repeat, and replaced otherwise; without one, an id is made while the request log is on.',
  }),
  'gateway:observe:refusals': held({
    spec: 'gateway',
    behaviour:
      'Requests that are refused for their bytes, path, form or session are log lines, coalesced by address and reason, without the query.',
  }),
} satisfies Record<string, Requirement>;
