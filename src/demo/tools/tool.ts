/** What a tool is, and the pieces that the tools share. */
import type { Call, Item } from '../call.ts';
import type { JsonObject } from '../message.ts';

export interface ToolResult {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
  readonly isError?: true;
}

export interface Tool extends Item {
  readonly run: (args: JsonObject, call: Call) => ToolResult | Promise<ToolResult>;
}

/** A tool as the tables of tools have it: the members of its definition stand beside the others. */
export interface ToolRow extends Omit<Tool, 'definition'> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Absent: it takes no arguments. */
  readonly inputSchema?: JsonObject;
  readonly outputSchema?: JsonObject;
  /** Absent: those of its table. */
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
}

/** https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool */
const noArguments = { type: 'object', additionalProperties: false };

export function toolsOf(annotations: JsonObject, rows: readonly ToolRow[]): readonly Tool[] {
  return rows.map(
    ({ name, title, description, inputSchema = noArguments, outputSchema, run, since, extra, ...more }) => {
      const schemas = outputSchema === undefined ? { inputSchema } : { inputSchema, outputSchema };
      return { run, since, extra, definition: { name, title, description, ...schemas, annotations, ...more } };
    },
  );
}

export function said(text: string): ToolResult {
  return { content: [{ type: 'text', text }] };
}

/** Told to the model, which can do better next time, and not as a protocol error, which it may never see. */
export function failed(text: string): ToolResult {
  return { ...said(text), isError: true };
}
