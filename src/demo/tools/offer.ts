/** `tools/list` and `tools/call`. */
import { type Call, itemNamed, listed } from '../call.ts';
import { Unanswered } from '../legacy-asks.ts';
import { BadValue, type JsonObject, objectOf, textOf } from '../message.ts';
import { askingTools } from './asking.ts';
import { changingTools, plainTools } from './plain.ts';
import { failed, type Tool, type ToolResult } from './tool.ts';

const tools: readonly Tool[] = [...plainTools, ...askingTools, ...changingTools];

export function listTools(call: Call): JsonObject {
  return listed('tools', 'name', tools, call);
}

export async function callTool(call: Call): Promise<ToolResult> {
  const args = objectOf(call.params, 'arguments', {});
  const tool = itemNamed(tools, 'tool', textOf(call.params, 'name'), call);
  try {
    return await tool.run(args, call);
  } catch (error) {
    // https://modelcontextprotocol.io/specification/2026-07-28/server/tools#error-handling
    if (error instanceof BadValue || error instanceof Unanswered) return failed(error.message);
    throw error;
  }
}
