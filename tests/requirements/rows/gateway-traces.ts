/** Traces: whose they are, what they hold, and that they are never in the way. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayTraces = {
  'gateway:traces:parents': held({
    spec: 'gateway',
    behaviour:
      'A client message is a SERVER span below the span of the client, each message to a backend a CLIENT span below that, and each peer is told the span that its message belongs to. A later round is linked to the round before.',
  }),
  'gateway:traces:own-requests': held({
    spec: 'gateway',
    behaviour:
      'Requests of the gateway itself, such as `server/discover`, `initialize` and lists that it reads for no single client, are CLIENT spans of traces that they begin, sampled like all others.',
  }),
  'gateway:traces:context': held({
    spec: '2026-07-28/basic#_meta',
    behaviour:
      'Trace context in `_meta` is the parent and that of HTTP a link; alone, that of HTTP is the parent. Malformed context is as good as none, and fails no request.',
  }),
  'gateway:traces:trust': held({
    spec: 'gateway',
    behaviour:
      'An endpoint takes the context of its clients as the parent, as a link, or not at all. Without authentication it is a link, and decides neither trace ids nor what is exported.',
  }),
  'gateway:traces:propagation': held({
    spec: 'gateway',
    behaviour:
      'Backends get trace context of the gateway in `_meta` and, over HTTP, in the headers, also for traces that are not sampled, and only listed keys of baggage. A backend can be exempt.',
  }),
  'gateway:traces:spans': held({
    spec: 'gateway',
    behaviour:
      'Spans have the names and attributes of the conventions of OpenTelemetry, an error status exactly where the operation failed, and neither arguments, results nor secrets.',
  }),
  'gateway:traces:collector': held({
    spec: 'gateway',
    behaviour:
      'A collector that is gone or does not answer delays no request and no shutdown beyond its limit. Lost spans are counted, and reported in few log lines.',
  }),
  'gateway:traces:off': held({
    spec: 'gateway',
    behaviour: 'Where traces are not configured, OpenTelemetry is not loaded, and trace context passes unchanged.',
  }),
} satisfies Record<string, Requirement>;
