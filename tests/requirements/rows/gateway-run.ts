/** Running it: configuration, start, stop, and the proof against other people's software. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayRun = {
  'gateway:config:mcp-servers': held({
    spec: 'gateway',
    behaviour: 'An `mcpServers` file of other clients is read as it is.',
  }),
  'gateway:config:yaml': held({
    spec: 'gateway',
    behaviour: '`bascule.yaml` can express everything of an `mcpServers` file, and more.',
  }),
  'gateway:config:variables': held({
    spec: 'gateway',
    behaviour: 'Variables of the environment are filled in, a default where one is given, and a missing one is named.',
  }),
  'gateway:config:unknown-key': held({
    spec: 'gateway',
    behaviour: 'An unknown key is refused with file, line and the nearest valid spelling.',
  }),
  'gateway:config:wrong-value': held({
    spec: 'gateway',
    behaviour: 'A wrong value is refused with file, line and what was expected.',
  }),
  'gateway:config:check': held({
    spec: 'gateway',
    behaviour: '`bascule config check` prints what `serve` would print, and starts nothing.',
  }),
  'gateway:config:file-rights': held({
    spec: 'gateway',
    behaviour: 'A config, an included secret or a key file that every user of the machine may write is refused.',
  }),
  'gateway:config:surroundings': held({
    spec: 'gateway',
    behaviour:
      '`bascule config check` warns of missing commands, directories and users, and of broken key files, with the cure.',
  }),
  'gateway:stdio:user': held({
    spec: 'gateway',
    behaviour: 'A stdio backend with `user` runs as that user, who cannot read the environment of the gateway.',
  }),
  'gateway:run:readiness-names': held({
    spec: 'gateway',
    behaviour:
      '`/readyz` names backends to authenticated callers; other callers learn only whether the gateway is ready.',
  }),
  'gateway:run:descriptors-reserved': held({
    spec: 'gateway',
    behaviour: 'Clients cannot exhaust the file descriptors: health paths answer, and backends can be reached.',
  }),
  'gateway:run:descriptors-named': held({
    spec: 'gateway',
    behaviour:
      'Running out of file descriptors has a failure of its own, is logged once and counted, and blames no backend.',
  }),
  'gateway:run:health-any-host': held({
    spec: 'gateway',
    behaviour: 'The health paths answer whatever the `Host` header says.',
  }),
  'gateway:serve:demo': held({
    spec: 'gateway',
    behaviour: 'Without a configuration the demo backend is served, and shows every feature.',
  }),
  'gateway:serve:given-backend': held({
    spec: 'gateway',
    behaviour: '`serve` and `stdio` take a command after `--`, or a URL, as their only backend.',
  }),
  'gateway:serve:trace': held({
    spec: 'gateway',
    behaviour: '`--trace` prints each message of both sides on stderr, bounded, and without credentials.',
  }),
  'gateway:link:round-trip': held({
    spec: 'gateway',
    behaviour: '`bascule link` adds the gateway to a client’s file, and `unlink` restores the file byte for byte.',
  }),
  'gateway:link:refusals': held({
    spec: 'gateway',
    behaviour:
      '`bascule link` changes no file that it cannot read, that is elsewhere, or whose entry it did not write.',
  }),
  'gateway:init': held({
    spec: 'gateway',
    behaviour: '`bascule init` makes a commented config that `config check` accepts, and overwrites nothing.',
  }),
  'gateway:control:socket': held({
    spec: 'gateway',
    behaviour: 'A running gateway answers questions of its own user, and of no other, on a Unix socket.',
  }),
  'gateway:control:commands': held({
    spec: 'gateway',
    behaviour: '`bascule status`, `tools` and `call` ask a running gateway, over its socket or its console API.',
  }),
  'gateway:serve:banner': held({
    spec: 'gateway',
    behaviour: 'The start shows the address, each backend with its era and state, and how to connect.',
  }),
  'gateway:serve:loopback-only': held({
    spec: '2026-07-28/basic/transports/streamable-http#security-endpoint',
    behaviour: 'Without identity, a listen address that is not loopback is refused, unless it is allowed explicitly.',
  }),
  'gateway:serve:drain': held({
    spec: 'gateway',
    behaviour: 'SIGTERM stops accepting, drains, ends the children and exits within its limit.',
  }),
  'gateway:serve:single-backend-path': held({
    spec: 'gateway',
    behaviour: 'Each backend is also served alone at a path of its own, without renaming.',
  }),
  'gateway:faults:random-traffic': held({
    spec: 'gateway',
    behaviour:
      'Random traffic with cut connections, killed backends and garbage leaves no crash, no rejection and no leak.',
  }),
  'gateway:faults:no-leak': held({
    spec: 'gateway',
    behaviour: 'Sockets, timers, processes and sessions are gone when their work is done.',
  }),
  'gateway:conformance:kit-2025-11-25': held({
    spec: 'gateway',
    revisions: ['2025-11-25'],
    behaviour:
      'The official conformance kit passes through the gateway against a legacy-only server as it does without it.',
  }),
  'gateway:conformance:kit-2026-07-28': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      'The official conformance kit passes through the gateway against a modern-only server as it does without it.',
  }),
  'gateway:conformance:bridge-2025-11-25': held({
    spec: 'gateway',
    revisions: ['2025-11-25'],
    behaviour: 'The official conformance kit for the last legacy revision passes against a modern-only server.',
  }),
  'gateway:conformance:bridge-2026-07-28': held({
    spec: 'gateway',
    revisions: 'modern',
    behaviour:
      'The official conformance kit for the modern revision passes against a legacy-only server, but for one scenario that demands a key which a legacy question does not have.',
  }),
  'gateway:clients:sdk-v2': held({
    spec: 'gateway',
    behaviour: 'The official TypeScript client 2.x works through the gateway.',
  }),
  'gateway:clients:sdk-v1': held({
    spec: 'gateway',
    revisions: 'legacy',
    behaviour: 'The official TypeScript client 1.x works through the gateway.',
  }),
  'gateway:clients:inspector': held({
    spec: 'gateway',
    behaviour: 'The Inspector on the command line works through the gateway.',
  }),
  'gateway:run:cause-named': held({
    spec: 'gateway',
    behaviour:
      'Clients get the class of a backend’s failure; log, start-up lines and `/readyz` have the details, without secrets.',
  }),
  'gateway:run:ready-when-something-is': held({
    spec: 'gateway',
    behaviour: '`/readyz` is 200 as soon as one backend can be used, and 503 when none can be reached.',
  }),
  'gateway:run:slow-start-logged': held({
    spec: 'gateway',
    behaviour: 'A backend that does not answer its probe is named in the log after a named time.',
  }),
  'gateway:run:starting-503': held({
    spec: 'gateway',
    behaviour:
      'Until the gateway accepts requests, endpoints answer 503 with `Retry-After`, and `/readyz` answers 503.',
  }),
  'gateway:run:not-its-own-backend': held({
    spec: 'gateway',
    behaviour:
      'A backend with the address of the gateway itself is left out with a note. A backend that leads back to the gateway in another way, also through other gateways, is down with a named cause. A gateway that is started by itself as a backend, with the same config, refuses to start.',
  }),
  'gateway:run:health-command': held({
    spec: 'gateway',
    behaviour:
      '`bascule health` ends with exit code 0 where a running gateway answers, over its control socket or at an address, and with 1 and the cause where none does.',
  }),
  'gateway:delivery:package': held({
    spec: 'gateway',
    behaviour:
      'The package is installed by one command and without scripts on each supported release of Node, and answers a call. Nothing in it is bundled and a dependency, and it has no source maps of dependencies.',
  }),
  'gateway:delivery:archive': held({
    spec: 'gateway',
    behaviour: 'The archive with Node in it answers a call on a machine that has no Node.',
  }),
  'gateway:docs:guides': held({
    spec: 'gateway',
    behaviour: 'The commands and files of every guide do what the guide says.',
  }),
} satisfies Record<string, Requirement>;
