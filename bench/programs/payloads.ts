/** What the bench's backends offer and answer. The load generator checks every answer against the same values. */

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: object;
}

export interface CallResult {
  readonly content: readonly { readonly type: 'text'; readonly text: string }[];
  readonly structuredContent?: object;
}

/** As many as a handful of real servers have together. */
export const TOOLS = 200;
const MiB = 1024 * 1024;

const verbs = ['search', 'read', 'create', 'update', 'archive', 'export', 'compare', 'summarise'] as const;
const nouns = ['issue', 'document', 'invoice', 'customer', 'pipeline', 'release', 'incident', 'calendar'] as const;

const at = <T>(list: readonly T[], index: number): T => list[index % list.length] as T;

export const toolNames = { echo: 'echo', report: 'report', records: 'records' } as const;

export function makeTools(count = TOOLS): Tool[] {
  const own = [
    makeTool(toolNames.echo, 'Answers with the text that it was given.'),
    makeTool(toolNames.report, 'A report of 1 MiB of text, or of as many bytes as it is asked for.'),
    makeTool(toolNames.records, 'Records of 1 MiB, as structured content.'),
  ];
  const others = Array.from({ length: Math.max(0, count - own.length) }, (_, index) => {
    const verb = at(verbs, index);
    const noun = at(nouns, Math.floor(index / verbs.length));
    return makeTool(
      `${verb}_${noun}_${index}`,
      `Use this to ${verb} one ${noun} by its key.\nPass "dry_run" to see what would happen; the answer names each ${noun} that was touched.`,
    );
  });
  return [...own, ...others].slice(0, count);
}

function makeTool(name: string, description: string): Tool {
  return {
    name,
    title: name.replaceAll('_', ' '),
    description,
    inputSchema: {
      type: 'object',
      properties: {
        text: { type: 'string', description: 'What to work on' },
        limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
        dry_run: { type: 'boolean', description: 'Change nothing, only say what would change' },
      },
      required: ['text'],
    },
  };
}

export function makeEcho(text: string): CallResult {
  return { content: [{ type: 'text', text: `You said: ${text}` }] };
}

/** Text as tools return it: lines, with quotes and characters outside ASCII here and there. So long as JSON. */
export function makeReport(length = MiB): CallResult {
  const lines: string[] = [];
  for (let index = 0, bytes = 0; bytes < length; index += 1) {
    const noun = at(nouns, index);
    const line =
      index % 7 === 0
        ? `## ${noun} ${index}: "${at(verbs, index)}" was asked for, see C:\\reports\\${noun}.txt`
        : `${index}. The ${noun} was changed by ${at(verbs, index + 3)}ing it twice${index % 5 === 0 ? ' – naïvely' : ''}, which took ${(index * 37) % 997} ms in all.`;
    lines.push(line);
    bytes += Buffer.byteLength(JSON.stringify(`${line}\n`)) - 2;
  }
  return { content: [{ type: 'text', text: lines.join('\n') }] };
}

/** The dearest case for whoever looks into JSON: very many small values. */
export function makeRecords(): CallResult {
  const records: object[] = [];
  for (let index = 0, bytes = 0; bytes < MiB; index += 1) {
    const record = {
      id: index,
      kind: at(nouns, index),
      open: index % 3 === 0,
      score: index / 8,
      tags: [at(verbs, index)],
    };
    records.push(record);
    bytes += JSON.stringify(record).length + 1;
  }
  return { content: [{ type: 'text', text: `${records.length} records` }], structuredContent: { records } };
}
