/** What a config changes of backends' tools and prompts. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayOverrides = {
  'gateway:overrides:lists': held({
    spec: 'gateway',
    behaviour:
      'A tool or a prompt is listed under the name, title and description that the config gives it, or not at all; every other byte of the entry is the backend’s.',
  }),
  'gateway:overrides:names': held({
    spec: 'gateway',
    behaviour:
      'A call by the new name reaches the backend under its own name. What is hidden or renamed cannot be called by the old name, whatever its case.',
  }),
  'gateway:overrides:arguments': held({
    spec: 'gateway',
    behaviour:
      'A fixed argument is in every call and in no schema; a default one is sent where the client leaves it out. The rest of the arguments is the client’s, byte for byte.',
  }),
  'gateway:overrides:refused-argument': held({
    spec: 'gateway',
    behaviour:
      'A client that sends a fixed argument, in whatever case, is refused by name, after the rules have decided.',
  }),
  'gateway:overrides:headers': held({
    spec: '2026-07-28/basic/transports/streamable-http#request-metadata',
    behaviour: 'The client’s headers agree with what the client sends, and the backend’s with what the backend gets.',
  }),
  'gateway:overrides:policy': held({
    spec: 'gateway',
    behaviour:
      'Rules, scopes, the audit trail, approvals and decision points see the names without overrides, and the arguments that are sent.',
  }),
  'gateway:overrides:pins': held({
    spec: 'gateway',
    behaviour: 'Pins compare the bytes of the backend, whatever the config changes of them.',
  }),
  'gateway:overrides:misfit': held({
    spec: 'gateway',
    behaviour:
      'An override that does not fit what the backend lists is reported once. A tool whose arguments do not fit is neither listed nor called, and no other tool takes its place.',
  }),
  'gateway:overrides:config': held({
    spec: 'gateway',
    behaviour:
      'Overrides that contradict each other are refused; what an endpoint says comes before what a backend says.',
  }),
  'gateway:overrides:reload': held({
    spec: 'gateway',
    behaviour: 'A reload applies changed overrides, and clients are told that their lists have changed.',
  }),
} satisfies Record<string, Requirement>;
