/** The commands that examine any server. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayInspect = {
  'gateway:doctor:fault-named': held({
    spec: 'gateway',
    behaviour: '`bascule doctor` names the step that fails, with the bytes, the rule that is broken, and the cure.',
  }),
  'gateway:doctor:no-false-alarm': held({
    spec: 'gateway',
    behaviour: '`bascule doctor` finds no fault with a server that keeps the rules, whoever wrote it.',
  }),
  'gateway:doctor:official-servers': held({
    spec: 'gateway',
    behaviour: '`bascule doctor` opens, lists and ends with servers of the official SDKs, over every transport.',
  }),
  'gateway:doctor:login': held({
    spec: '2026-07-28/basic/authorization#authorization-flow-steps',
    behaviour: '`bascule doctor` registers a client and signs in only when it is told to, and then uses the token.',
  }),
  'gateway:doctor:no-secrets': held({
    spec: 'gateway',
    behaviour: '`bascule doctor` and `bascule check` print no header of the user, token, code or client secret.',
  }),
  'gateway:doctor:command': held({
    spec: 'gateway',
    behaviour: '`bascule doctor` prints a line for each step, or one JSON document, and exits with 0 or 1.',
  }),
  'gateway:check:fault-named': held({
    spec: 'gateway',
    behaviour: '`bascule check` reports each broken rule under the id of its requirement, with the bytes.',
  }),
  'gateway:check:no-false-alarm': held({
    spec: 'gateway',
    behaviour: '`bascule check` reports no broken rule for a server that keeps them all.',
  }),
  'gateway:check:catalogue': held({
    spec: 'gateway',
    behaviour:
      'Every check has an id of this catalogue, a section of the specification, and no other check has its id.',
  }),
  'gateway:check:official-servers': held({
    spec: 'gateway',
    behaviour: '`bascule check` holds for servers of the official SDKs, but for the deviations that are written down.',
  }),
  'gateway:check:no-tool-called': held({
    spec: 'gateway',
    behaviour: '`bascule check` and `bascule doctor` call no tool that the user did not name.',
  }),
  'gateway:check:command': held({
    spec: 'gateway',
    behaviour: '`bascule check` prints a report, or one JSON document, and exits with 1 if a MUST is broken.',
  }),
} satisfies Record<string, Requirement>;
