/** Opening a session, agreeing on a revision, and the stateless envelope that replaced both; ping. */
import { noPinnedEra } from '../reasons.ts';
import type { Requirement } from '../requirement.ts';
import { divergent, held, notApplicable } from '../requirement.ts';

export const lifecycle = {
  'lifecycle:capability:client-not-declared': held({
    spec: '2025-11-25/basic/lifecycle#operation',
    behaviour:
      'A server request for a feature that the client did not declare is answered with an error by the gateway, and does not reach the client.',
  }),
  'lifecycle:capability:server-not-advertised': held({
    spec: '2025-11-25/basic/lifecycle#operation',
    behaviour:
      'A method whose capability the backend lacks is answered -32601 by the gateway, and the backend gets no byte.',
  }),
  'lifecycle:initialize:basic': held({
    spec: '2025-11-25/basic/lifecycle#initialization',
    revisions: 'legacy',
    behaviour:
      '`initialize` is answered with a revision, capabilities and server info, and the session is usable at once.',
  }),
  'lifecycle:initialize:server-info': held({
    spec: '2025-11-25/basic/lifecycle#initialization',
    revisions: 'legacy',
    behaviour: 'The name, version and title in the `initialize` result are those of the backend behind the endpoint.',
  }),
  'lifecycle:initialize:instructions': held({
    spec: '2025-11-25/basic/lifecycle#initialization',
    revisions: 'legacy',
    behaviour:
      'The instructions of the backend stand in the `initialize` result unchanged, and are absent where it has none.',
  }),
  'lifecycle:initialize:capabilities:from-handlers': held({
    spec: '2025-11-25/basic/lifecycle#capability-negotiation',
    revisions: 'legacy',
    behaviour:
      'A client is offered exactly the capabilities of the backend, minus those that the gateway does not carry.',
  }),
  'lifecycle:initialize:capabilities:minimal': held({
    spec: '2025-11-25/basic/lifecycle#capability-negotiation',
    revisions: 'legacy',
    behaviour: 'For a backend without features the gateway advertises no features.',
  }),
  'lifecycle:initialize:client-info': held({
    spec: '2025-11-25/basic/lifecycle#initialization',
    revisions: 'legacy',
    behaviour:
      'The backend of a session learns the name, version and title of the client, not of some other client that came first.',
  }),
  'lifecycle:initialize:client-capabilities': held({
    spec: '2025-11-25/basic/lifecycle#capability-negotiation',
    revisions: 'legacy',
    behaviour: 'The backend is offered what this client declared, down to modes and sub-fields, and nothing more.',
  }),
  'lifecycle:initialized-notification': held({
    spec: '2025-11-25/basic/lifecycle#initialization',
    revisions: 'legacy',
    behaviour: 'Towards a legacy backend exactly one `notifications/initialized` goes out, before any other request.',
  }),
  'lifecycle:ping': held({
    spec: '2025-11-25/basic/utilities/ping#behavior-requirements',
    revisions: 'legacy',
    behaviour: '`ping` of either side is answered with an empty result, without a request to the other side.',
  }),
  'ping:client-to-server': held({
    spec: '2025-11-25/basic/utilities/ping#behavior-requirements',
    revisions: 'legacy',
    behaviour: 'A ping of the client is answered by the gateway itself and reaches no backend.',
  }),
  'ping:server-to-client': held({
    spec: '2025-11-25/basic/utilities/ping#behavior-requirements',
    revisions: 'legacy',
    behaviour: 'A ping of the backend is answered by the gateway itself and reaches no client.',
  }),
  'lifecycle:requests-before-initialized': held({
    spec: 'sdk',
    revisions: 'legacy',
    behaviour: 'A legacy request that arrives before any `initialize` is refused and reaches no backend.',
  }),
  'lifecycle:pre-initialization-ordering': held({
    spec: '2025-11-25/basic/lifecycle#initialization',
    revisions: 'legacy',
    behaviour: 'Until a legacy backend has answered `initialize`, the gateway holds back every call for it.',
  }),
  'lifecycle:version:downgrade': held({
    spec: '2025-11-25/basic/lifecycle#version-negotiation',
    revisions: 'legacy',
    behaviour:
      'A backend that answers `initialize` with an older revision is served at that revision, whatever the client speaks.',
  }),
  'lifecycle:version:match': held({
    spec: '2025-11-25/basic/lifecycle#version-negotiation',
    revisions: 'legacy',
    behaviour:
      '`initialize` with a legacy revision of the profile is answered with the same revision, for every such revision.',
  }),
  'lifecycle:version:server-fallback-latest': held({
    spec: '2025-11-25/basic/lifecycle#version-negotiation',
    revisions: 'legacy',
    behaviour:
      'An unknown revision in `initialize` is answered with the newest legacy one of the profile, never with an error.',
  }),
  'lifecycle:version:reject-unsupported': held({
    spec: '2025-11-25/basic/lifecycle#version-negotiation',
    revisions: 'legacy',
    behaviour: 'A backend that answers with an unknown revision is reported as unusable, and its session is not used.',
  }),
  'lifecycle:stateless:request-envelope': held({
    spec: '2026-07-28/basic#_meta',
    revisions: 'modern',
    behaviour: "Every request to a modern backend carries its revision and the client's capabilities in `_meta`.",
  }),
  'lifecycle:stateless:no-initialize': divergent({
    spec: '2026-07-28/basic#statelessness',
    revisions: 'modern',
    behaviour: 'A modern backend is never sent `initialize` or `notifications/initialized`.',
    reason:
      'A modern backend is asked once, with `initialize`, for a legacy half, which servers of both eras need not name in `supportedVersions`: over HTTP when it is probed, over stdio in a process of its own when the first legacy client comes. No session comes of it, and `notifications/initialized` is never sent.',
  }),
  'lifecycle:stateless:caller-meta-preserved': held({
    spec: '2026-07-28/basic#_meta',
    revisions: 'modern',
    behaviour:
      "Members of the client's `_meta` reach the backend; the core envelope keys are written anew by the gateway.",
  }),
  'lifecycle:stateless:unpinned-legacy-wire': held({
    spec: '2026-07-28/basic/versioning',
    behaviour:
      'No message of a legacy session, in either direction, has a member or method that 2026-07-28 introduced.',
  }),
  'lifecycle:envelope:stamped-on-every-request': held({
    spec: '2026-07-28/basic#_meta',
    revisions: 'modern',
    behaviour: 'The envelope is on every modern request that the gateway sends, and on none of its notifications.',
  }),
  'lifecycle:envelope:header-matches-meta': held({
    spec: '2026-07-28/basic/transports/streamable-http#protocol-version-header',
    revisions: 'modern',
    behaviour: 'On every POST to a modern backend the version header equals the revision in the body.',
  }),
  'lifecycle:discover:basic': held({
    spec: '2026-07-28/server/discover#response',
    revisions: 'modern',
    behaviour:
      "`server/discover` answers with the profile's revisions, the backend's capabilities, cache hints and server info.",
  }),
  'lifecycle:discover:retry-on-32022': held({
    spec: '2026-07-28/basic/versioning#protocol-version-negotiation',
    revisions: 'modern',
    behaviour:
      'A probe refused with -32022 is repeated once at a revision both sides have, and never turned into `initialize`.',
  }),
  'lifecycle:discover:fallback-method-not-found': held({
    spec: '2026-07-28/basic/transports/stdio#backward-compatibility',
    revisions: 'modern',
    behaviour:
      'Any other answer to the probe, an error of any code or a bare 4xx, means a legacy backend, and `initialize` follows.',
  }),
  'lifecycle:discover:network-error-raises': held({
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'A backend that cannot be reached is unavailable; its era stays undecided and is asked for again later.',
  }),
  'lifecycle:mode:legacy-never-probes': notApplicable(noPinnedEra, {
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'A client set to the legacy era does not probe.',
  }),
  'lifecycle:mode:pin-never-handshakes': notApplicable(noPinnedEra, {
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'A client pinned to one revision does not negotiate.',
  }),
  'lifecycle:mode:prior-discover-zero-rtt': held({
    spec: 'sdk',
    revisions: 'modern',
    behaviour: 'Once the era of a backend is known, later clients and calls cause no negotiation traffic.',
  }),
} satisfies Record<string, Requirement>;
