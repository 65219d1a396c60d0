/** A gateway whose pins were approved by the real command's code, and backends that change what they offer. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { digest } from '../../../src/app/digest.ts';
import { writePinFile } from '../../../src/pins/file.ts';
import { type PinKind, pinOf } from '../../../src/pins/pin.ts';
import { readPinValue } from '../../../src/pins/read-value.ts';
import type { Era } from '../../../src/wire/revisions.ts';
import type { Json } from '../harness/client.ts';
import type { ConfigValue } from '../harness/gateway.ts';
import type { Turn } from '../harness/http-backend.ts';
import { type House, openHouse } from '../policy/setup.ts';

export const readTool: Json = {
  name: 'read_file',
  description: 'Reads a file',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  annotations: { readOnlyHint: true },
  _meta: { ui: { resourceUri: 'ui://files/view' }, 'files.example/tier': 1 },
};
export const listTool: Json = { name: 'list_files', inputSchema: { type: 'object' } };

/** A file in a folder of its own. */
export function fileIn(text?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bascule-pins-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'pins.txt');
  if (text !== undefined) writeFileSync(path, text);
  return path;
}

/** The pin file of both backends. */
export function pinned(kind: PinKind, entries: readonly Json[], key = 'name'): string {
  const pins = ['a', 'b'].flatMap((backend) =>
    entries.map((entry) => {
      const thing = { backend, kind, name: kind === 'instructions' ? '' : entry[key] };
      return pinOf(thing, readPinValue(Buffer.from(JSON.stringify(entry))), digest);
    }),
  );
  return writePinFile(pins, digest);
}

export interface PinnedHouse extends House {
  /** What both backends list. Each request for a list reads it. */
  tools: Json[];
  readonly file: string;
}

export interface PinnedPlan {
  readonly era?: Era;
  readonly mode?: 'hold' | 'warn';
  /** The text of the pin file. Absent: the two tools. `null`: there is no file. */
  readonly text?: string | null;
  readonly more?: ConfigValue;
  /** How long a modern backend says that its list is good. */
  readonly ttlMs?: number;
  /** What a request gets, in the place of `tools`. */
  readonly toolsFor?: (turn: Turn) => readonly Json[];
}

export async function openPinned(plan: PinnedPlan = {}): Promise<PinnedHouse> {
  const { era, mode = 'hold', text, more, toolsFor, ttlMs = 0 } = plan;
  const file = fileIn(text === null ? undefined : (text ?? pinned('tool', [readTool, listTool])));
  const state: { tools: Json[] } = { tools: [readTool, listTool] };
  const house = await openHouse({
    ...(era && { era }),
    script: {
      'tools/list': (turn) =>
        turn.result({
          resultType: 'complete',
          tools: toolsFor?.(turn) ?? state.tools,
          ttlMs,
          cacheScope: 'private',
        }),
    },
    // Every list is read anew, so that a change is seen without waiting.
    more: { pins: { file, mode }, limits: { listGoodMs: 0, listUnsureMs: 0 }, ...more },
  });
  return Object.defineProperties(house, {
    tools: { get: () => state.tools, set: (tools: Json[]) => void Object.assign(state, { tools }) },
    file: { value: file },
  }) as PinnedHouse;
}

export const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
export const namesIn = ({ result }: Json): string[] => result.tools.map(({ name }: { name: string }) => name);
