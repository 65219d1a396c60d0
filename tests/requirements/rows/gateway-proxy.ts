/** The proxy: backends under their own addresses. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayProxy = {
  'gateway:proxy:served': held({
    spec: 'gateway',
    behaviour:
      'Through the proxy, in absolute form and in a tunnel with or without TLS, clients of both eras use a backend under the backend’s own address.',
  }),
  'gateway:proxy:same-rules': held({
    spec: 'gateway',
    behaviour:
      'A request through the proxy is a request of the backend’s endpoint: the same profile, rules, rates, batches and audit, in both modes, and no byte upstream where it is refused.',
  }),
  'gateway:proxy:listed-only': held({
    spec: 'gateway',
    behaviour:
      'Only the exact hosts, ports and addresses of configured backends are served; everything else is refused with a typed reason, and no connection is made.',
  }),
  'gateway:proxy:one-reading': held({
    spec: 'gateway',
    behaviour:
      'A target that two readers could take for two addresses is refused: another `Host`, a user name, a path that is not canonical, a nested tunnel, another server name.',
  }),
  'gateway:proxy:identity': held({
    spec: 'gateway',
    behaviour:
      '`Proxy-Authorization` says who the sender is, with 407 otherwise; it reaches no backend, no log and no record.',
  }),
  'gateway:proxy:ca': held({
    spec: 'gateway',
    behaviour:
      'The certificate authority can sign for the listed hosts alone, for 90 days; a host that it does not have is refused until a new one is made.',
  }),
  'gateway:proxy:bounds': held({
    spec: 'gateway',
    behaviour: 'Connections, handshakes, headers and tunnels through the proxy have limits in number and time.',
  }),
  'gateway:proxy:client-credentials': held({
    spec: 'gateway',
    behaviour:
      'With `credentials: client` the client’s `Authorization` reaches its backend, and what was obtained with one credential is shown to no other.',
  }),
  'gateway:proxy:commands': held({
    spec: 'gateway',
    behaviour: '`bascule proxy ca` and `bascule proxy env` give clients what they need; wrong settings are reported.',
  }),
} satisfies Record<string, Requirement>;
