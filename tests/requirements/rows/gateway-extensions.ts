/** Extensions of the protocol, through one endpoint or a merged one. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayExtensions = {
  'gateway:extensions:carried': held({
    spec: '2026-07-28/basic/versioning#extensions',
    behaviour:
      'Known extensions, and those that the config lets pass, are declared to both sides, at every endpoint; others are not.',
  }),
  'gateway:extensions:lists': held({
    spec: 'gateway',
    behaviour: 'Merged lists are read with the extensions that the client declares, and kept apart by them.',
  }),
  'gateway:extensions:apps': held({
    spec: 'gateway',
    behaviour:
      'At a merged endpoint a `ui://` resource keeps its scheme, and every link to it leads to the backend that gave the link.',
  }),
  'gateway:extensions:apps-policy': held({
    spec: 'gateway',
    behaviour: 'A tool loses the link to an app that the client may not read, and nothing else.',
  }),
  'gateway:extensions:skills': held({
    spec: 'gateway',
    behaviour:
      'The official client lists skills through one endpoint or a merged one, and reads every file with the right digest.',
  }),
  'gateway:extensions:skills-invalid': held({
    spec: 'gateway',
    behaviour: 'An invalid or repeated skill is left out of a list, and all others are served.',
  }),
  'gateway:extensions:skills-policy': held({
    spec: 'gateway',
    behaviour: 'A skill is shown only to clients that may read its file and every file of its manifest.',
  }),
} satisfies Record<string, Requirement>;
