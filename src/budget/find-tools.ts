/** The gateway's own tool: it finds tools by a description of what is wanted, and gives their whole entries. */
import { FIND } from '../policy/actions.ts';
import type { Request } from '../wire/message.ts';
import type { MethodRow } from '../wire/methods.ts';
import { textMember } from '../wire/values.ts';

/** Reserved at endpoints with a budget: a backend's tool of this name is not the one that answers. */
export const FIND_TOOLS = 'find_tools';
/** Marks the tool in `_meta`: it is the gateway's. */
const FINDER = 'bascule/finder';

export const LONGEST_QUERY = 1_000;
export const MOST_FOUND = 10;
export const USUALLY_FOUND = 5;

/** A call of the tool, for which policy has an action of its own. */
export const findToolsRow: MethodRow = {
  method: 'tools/call',
  kind: 'request',
  from: 'client',
  since: '2024-11-05',
  capability: 'tools',
  action: FIND,
  ours: true,
};

export const findToolsEntry = {
  name: FIND_TOOLS,
  description:
    'Finds tools of this server by what they do, and returns their full descriptions and input schemas. Many tools ' +
    'are listed in short form only: look a tool up here before calling it under its own name.',
  inputSchema: {
    type: 'object',
    properties: {
      query: {
        type: 'string',
        maxLength: LONGEST_QUERY,
        description: 'What the tool should do, in a few words, or the exact name of a tool',
      },
      limit: { type: 'integer', minimum: 1, maximum: MOST_FOUND, description: `Default: ${USUALLY_FOUND}` },
    },
    required: ['query'],
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  _meta: { [FINDER]: true },
};

export function asksToFind({ method }: MethodRow, { bytes, params }: Request): boolean {
  return method === 'tools/call' && textMember(bytes, params, 'name') === FIND_TOOLS;
}
