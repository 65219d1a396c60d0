/** A budget for the list of tools, and the search that goes with it. */
import type { Requirement } from '../requirement.ts';
import { held } from '../requirement.ts';

export const gatewayBudget = {
  'gateway:budget:list': held({
    spec: 'gateway',
    behaviour:
      'At an endpoint with a budget `tools/list` has whole entries as far as the budget goes, in the order of backends and names, and marked stubs of all others, on one endpoint or a merged one, with pages and cursors as without a budget.',
  }),
  'gateway:budget:stub': held({
    spec: 'gateway',
    behaviour:
      'A stub keeps the real name, the first sentence of the description, the annotations, and the properties that clients mirror in headers; its schema accepts any arguments, and its size is bounded whatever the entry is.',
  }),
  'gateway:budget:arguments': held({
    spec: 'gateway',
    behaviour:
      'Arguments of a tool that was listed as a stub are checked against the real schema before a person is asked or anything is sent; wrong ones get a tool error with the schema, in both eras. Only a caller that may call the tool learns its schema.',
  }),
  'gateway:budget:hostile-schema': held({
    spec: 'gateway',
    behaviour:
      'A schema with expressions, references that branch or lead out, or great size costs bounded time; what cannot be checked is passed on unchecked, and never refused for that.',
  }),
  'gateway:budget:find': held({
    spec: 'gateway',
    behaviour:
      '`find_tools` answers with the whole entries of the tools that fit best, exact names first, in both eras and over every transport, and with nothing where nothing fits.',
  }),
  'gateway:budget:find-policy': held({
    spec: 'gateway',
    behaviour:
      '`find_tools` is authorized and recorded as the action `find`, is listed only to callers that may use it, and never shows a tool that the rules hide from the caller.',
  }),
  'gateway:budget:find-bounds': held({
    spec: 'gateway',
    behaviour:
      'Queries, answers, waiting searches and kept indexes are bounded; callers take turns, so that one that searches without end makes only itself wait.',
  }),
  'gateway:budget:reserved-name': held({
    spec: 'gateway',
    behaviour:
      'A tool of a backend that is called `find_tools` cannot take the place of the gateway’s: it is listed with its backend’s prefix where names may have one, and is reported as a collision elsewhere.',
  }),
  'gateway:budget:cost': held({
    spec: 'gateway',
    behaviour:
      'The tokens of a list with and without its budget are in the metrics, in the console’s facts and in `bascule tools --cost`.',
  }),
} satisfies Record<string, Requirement>;
