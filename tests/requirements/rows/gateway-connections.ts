/** The wires with one stream for everything: HTTP+SSE of 2024-11-05, and stdio. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayConnections = {
  'gateway:sse:endpoint-event': held({
    spec: '2024-11-05/basic/transports#http-with-sse',
    revisions: ['2024-11-05'],
    behaviour: '`GET /sse` begins with an `endpoint` event, whose address accepts only POSTs of this client.',
  }),
  'gateway:sse:post-202': held({
    spec: 'gateway',
    revisions: ['2024-11-05'],
    behaviour: 'A POST is answered 202, and its answer, an error included, comes on the stream.',
  }),
  'gateway:sse:session-404': held({
    spec: 'gateway',
    revisions: ['2024-11-05'],
    behaviour: 'A POST for an unknown session is 404 with the -32001 body and the id of the request.',
  }),
  'gateway:sse:unreadable-400': held({
    spec: 'gateway',
    revisions: ['2024-11-05'],
    behaviour: 'A body that cannot be read is 400.',
  }),
  'gateway:sse:batch-refused': held({
    spec: 'gateway',
    revisions: ['2024-11-05'],
    behaviour: 'An array is refused as everywhere.',
  }),
  'gateway:sse:stream-end': held({
    spec: 'gateway',
    revisions: ['2024-11-05'],
    behaviour: 'The end of the stream is the end of the session, and its calls are cancelled at the backend.',
  }),
  'gateway:sse:initialize-in-time': held({
    spec: 'gateway',
    revisions: ['2024-11-05'],
    behaviour: 'A stream on which the client does not initialize a session in time is ended.',
  }),
  'gateway:sse:no-broadcast': held({
    spec: 'gateway',
    revisions: ['2024-11-05'],
    behaviour: 'A message reaches exactly the client that it is for, with several connected.',
  }),
  'gateway:stdio:one-line': held({
    spec: '2025-11-25/basic/transports#stdio',
    behaviour: 'Every message on stdout is one line.',
  }),
  'gateway:stdio:stdout-pure': held({
    spec: '2025-11-25/basic/transports#stdio',
    behaviour: 'Stdout carries only the protocol; everything else goes to stderr or a file.',
  }),
  'gateway:stdio:era-by-first-message': held({
    spec: '2026-07-28/basic/transports/stdio#backward-compatibility',
    behaviour: 'The first message decides the era of a stdio client.',
  }),
  'gateway:stdio:discover-first': held({
    spec: '2026-07-28/basic/transports/stdio#backward-compatibility',
    behaviour:
      '`server/discover` is answered before `initialize` too, and a client may then still choose the legacy era.',
  }),
  'gateway:stdio:unreadable-line': held({
    spec: 'gateway',
    behaviour: 'An unreadable line is answered -32700 without an id, and the next line is served.',
  }),
  'gateway:stdio:batch-refused': held({
    spec: 'gateway',
    behaviour: 'An array is refused as everywhere.',
  }),
  'gateway:stdio:cancelled': held({
    spec: '2026-07-28/basic/transports/stdio#cancellation',
    behaviour: '`notifications/cancelled` cancels in both eras.',
  }),
  'gateway:stdio:stdin-closed': held({
    spec: '2026-07-28/basic/transports/stdio#shutdown',
    behaviour: 'When stdin closes, calls are cancelled, children ended, and the process exits.',
  }),
  'gateway:stdio:listen-teardown': held({
    spec: '2026-07-28/basic/patterns/cancellation',
    revisions: 'modern',
    behaviour: 'A subscription that the gateway ends gets `notifications/cancelled` and then its result.',
  }),
  'gateway:stdio:local-principal': held({
    spec: 'gateway',
    behaviour: 'A client over stdio is the local principal of the configuration.',
  }),
} satisfies Record<string, Requirement>;
