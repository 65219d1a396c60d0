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

/** The schema for tools that take no arguments: https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool */
export const noArguments = { type: 'object', additionalProperties: false };

export function said(text: string): ToolResult {
  return { content: [{ type: 'text', text }] };
}

/** Told to the model, which can do better next time, and not as a protocol error, which it may never see. */
export function failed(text: string): ToolResult {
  return { ...said(text), isError: true };
}
