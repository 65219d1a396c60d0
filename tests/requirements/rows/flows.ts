/** Subscriptions, extensions and whole stories, seen by an official client on the far side of the gateway. */
import { clientSide, noExtensions } from '../reasons.ts';
import type { Requirement } from '../requirement.ts';
import { held, notApplicable } from '../requirement.ts';

export const flows = {
  'subscriptions:listen:client:honored-surfacing': held({
    spec: '2026-07-28/basic/patterns/subscriptions#acknowledgment',
    revisions: 'modern',
    behaviour: 'The acknowledgement comes first and names what the backend really honours.',
  }),
  'subscriptions:listen:client:concurrent-demux': held({
    spec: '2026-07-28/basic/patterns/subscriptions#multiple-concurrent-subscriptions',
    revisions: 'modern',
    behaviour: 'Two subscriptions of one client each get their acknowledgement and events under their own id.',
  }),
  'subscriptions:listen:client:iteration': held({
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'Changes and updates at the backend arrive as events of an open subscription.',
  }),
  'subscriptions:listen:client:graceful-close': held({
    spec: '2026-07-28/basic/patterns/subscriptions#cancellation',
    revisions: 'modern',
    behaviour: 'When the gateway shuts down, a subscription ends with its result.',
  }),
  'subscriptions:listen:client:lost': notApplicable(clientSide, {
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'A client library reports a subscription whose stream broke.',
  }),
  'subscriptions:listen:client:era-guard': notApplicable(clientSide, {
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'A client library refuses to subscribe on a legacy connection.',
  }),
  'extensions:client:claimed-result-resolved': notApplicable(noExtensions, {
    spec: '2026-07-28/basic#resulttype',
    revisions: 'modern',
    behaviour: 'A result type of an extension is finished by that extension.',
  }),
  'extensions:client:claimed-result-undeclared-invalid': held({
    spec: '2026-07-28/basic#resulttype',
    revisions: 'modern',
    behaviour: 'A result type that no declared extension defines is `backend_invalid`.',
  }),
  'extensions:client:capability-ad:gates-server-behaviour': held({
    spec: '2026-07-28/basic#resulttype',
    revisions: 'modern',
    behaviour: 'A backend is offered only the extensions that the client declared and the gateway carries.',
  }),
  'extensions:client:capability-ad:legacy-omits-claimed': held({
    spec: '2026-07-28/basic#resulttype',
    revisions: 'legacy',
    behaviour: '`initialize` towards a legacy backend names no extension that only a modern exchange can carry.',
  }),
  'extensions:client:notification-binding-delivery': notApplicable(noExtensions, {
    spec: '2026-07-28/basic#resulttype',
    revisions: 'modern',
    behaviour: 'Notifications of a vendor are handed to the extension that claimed them.',
  }),
  'flow:compat:dual-transport-server': held({
    spec: '2025-11-25/basic/transports#backwards-compatibility',
    behaviour: 'Streamable HTTP and HTTP+SSE clients are served at the same time by one gateway.',
  }),
  'flow:compat:streamable-then-sse-fallback': held({
    spec: '2025-11-25/basic/transports#backwards-compatibility',
    behaviour: 'A backend that supports only HTTP+SSE is found by falling back from Streamable HTTP.',
  }),
  'flow:elicitation:multi-step-form': held({
    spec: 'sdk',
    behaviour: 'A tool sends several server requests in one call, and a refusal ends the call early.',
  }),
  'flow:elicitation:url-at-session-init': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour:
      'A server request that a backend sends on its GET stream right after `initialize` reaches the client on one of the client’s streams.',
  }),
  'flow:elicitation:url-required-then-retry': held({
    spec: '2025-11-25/client/elicitation#url-elicitation-required-error',
    revisions: 'legacy',
    behaviour: 'A call refused with -32042 succeeds when the client repeats it after the URL elicitation is complete.',
  }),
  'flow:multi-client:stateful-isolation': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'Clients have sessions of their own and get their own notifications only.',
  }),
  'flow:oauth:authorization-code-roundtrip': held({
    spec: '2025-11-25/basic/authorization#authorization-flow-steps',
    behaviour: 'A user authorises a backend once in the browser, and the call then succeeds.',
  }),
  'flow:resume:tool-call-resumption-token': held({
    spec: '2025-11-25/basic/transports#resumability-and-redelivery',
    revisions: 'legacy',
    behaviour: 'A tool call whose connection was cut is finished over a resumed stream.',
  }),
  'flow:session:terminate-then-reconnect': held({
    spec: '2025-11-25/basic/transports#session-management',
    revisions: 'legacy',
    behaviour: 'After ending its session a client opens another, with another id.',
  }),
  'flow:tool-result:resource-link-follow': held({
    spec: '2025-11-25/server/tools#resource-links',
    behaviour: 'A link in a tool result can be read through the same endpoint.',
  }),
} satisfies Record<string, Requirement>;
