/** What a tool is, and the pieces that the tools share. */
import type { Revision } from '../../wire/revisions.ts';
import type { Call } from '../call.ts';
import type { JsonObject } from '../message.ts';

export interface ToolResult {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
  readonly isError?: true;
}

export interface Tool {
  /** As `tools/list` shows it to the newest revision. */
  readonly definition: JsonObject & { readonly name: string };
  /** The first revision that has what the tool needs; older ones don't get to see it. */
  readonly since?: Revision;
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
