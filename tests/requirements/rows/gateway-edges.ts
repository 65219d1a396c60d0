/** TLS, Unix sockets, and what keeps the programs of stdio backends in. */

import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayEdges = {
  'gateway:tls:serves': held({
    spec: 'gateway',
    behaviour:
      'With `listen.tls` the listener speaks HTTPS alone, with TLS 1.2 or later (or 1.3) and HTTP/1.1; start-up lines, `bascule status` and workers say and serve the same.',
  }),
  'gateway:tls:reload': held({
    spec: 'gateway',
    behaviour:
      'A certificate is replaced when its files change or at SIGHUP: no call fails, and connections and streams stay open. One that cannot be used changes nothing, and the log says why.',
  }),
  'gateway:tls:refused': held({
    spec: 'gateway',
    behaviour:
      'Without a certificate that can be used the gateway does not start, and says what is wrong with which file; `config check` says the same. A key that everybody can read is warned of.',
  }),
  'gateway:tls:limits': held({
    spec: 'gateway',
    behaviour:
      'The limits of connections and of header times hold for TLS, during the handshake too; what is no TLS harms nobody.',
  }),
  'gateway:socket:serves': held({
    spec: 'gateway',
    behaviour:
      'With `listen.socket` the gateway listens on a Unix socket with the rights that `mode` gives. `Host` is checked as on a loopback address.',
  }),
  'gateway:socket:stale': held({
    spec: 'gateway',
    behaviour:
      'A socket that a killed process left behind is replaced; one in use, and a file that is no socket, are left alone, and the gateway does not start.',
  }),
  'gateway:socket:config': held({
    spec: 'gateway',
    behaviour: 'A socket goes with neither address nor TLS; what cannot work over it is refused by name.',
  }),
  'gateway:socket:backend': held({
    spec: 'gateway',
    behaviour:
      'A backend with `socket` beside its `url` is reached over that Unix socket, and the request names the host of `url`.',
  }),
  'gateway:sandbox:holds': held({
    spec: 'gateway',
    behaviour:
      'A stdio backend with `sandbox` sees neither environment nor files nor processes of the gateway, no network unless the config says so, and only the paths that it lists; it has no rights, and ends with the gateway.',
  }),
  'gateway:sandbox:limits': held({
    spec: 'gateway',
    behaviour:
      'What takes more memory or starts more processes than its sandbox allows is ended with all that it started. The call and the log name the limit, other backends go on, and no control group is left behind.',
  }),
  'gateway:sandbox:refused': held({
    spec: 'gateway',
    behaviour:
      'Where the machine cannot make a sandbox, the backend is not started, and `config check`, the start-up line and the log say why.',
  }),
  'gateway:sandbox:config': held({
    spec: 'gateway',
    behaviour:
      'A sandbox that would show files of the gateway, or a listed path that the backend could replace, is refused by name.',
  }),
} satisfies Readonly<Record<string, Requirement>>;
