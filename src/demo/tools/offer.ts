/** `tools/list` and `tools/call`. */
import { atLeast } from '../../wire/revisions.ts';
import type { Call } from '../call.ts';
import { BadValue, Unanswered } from '../failure.ts';
import { pageOf } from '../pages.ts';
import { objectOr, textOf } from '../read.ts';
import { askingTools } from './asking.ts';
import { changingTools, extraTool } from './changing.ts';
import { plainTools } from './plain.ts';
import { failed, type Tool, type ToolResult } from './tool.ts';

const tools: readonly Tool[] = [...plainTools, ...askingTools, ...changingTools];

/** More than there are: clients mostly show tools at once. */
const pageSize = 100;

function offered({ revision, world }: Call): readonly Tool[] {
  const known = tools.filter(({ since }) => since === undefined || atLeast(revision, since));
  return world.has('tools') ? [...known, extraTool] : known;
}

export function listTools(call: Call): { readonly tools: readonly object[]; readonly nextCursor?: string } {
  const definitions = offered(call).map((tool) => tool.definition);
  const { items, ...rest } = pageOf(definitions, ({ name }) => name, pageSize, call.params.cursor);
  return { tools: items, ...rest };
}

export async function callTool(call: Call): Promise<ToolResult> {
  const name = textOf(call.params, 'name');
  const args = objectOr(call.params, 'arguments');
  const tool = offered(call).find(({ definition }) => definition.name === name);
  if (tool === undefined) throw new BadValue(`Unknown tool: ${name}`);
  try {
    return await tool.run(args, call);
  } catch (error) {
    // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
    if (error instanceof BadValue || error instanceof Unanswered) return failed(error.message);
    throw error;
  }
}
