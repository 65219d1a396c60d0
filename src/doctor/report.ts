/** What `bascule doctor` prints about a step. */
import type { StepReport } from './diagnose.ts';
import type { Bytes } from './peer/reply.ts';

const words = { ok: 'ok     ', failed: 'FAILED ', skipped: 'skipped' } as const;
const NAME_WIDTH = 17;
const INDENT = '         ';

export function stepLines({ step, state, ms, detail, failure }: StepReport): string {
  const head = `${words[state]}  ${step.padEnd(NAME_WIDTH)}  `;
  if (failure === undefined) return `${head}${detail} (${ms} ms)`;
  const { what, rule, cure, bytes } = failure;
  return [
    `${head}${what}: ${detail} (${ms} ms)`,
    ...(bytes === undefined ? [] : byteLines(bytes, INDENT)),
    `${INDENT}rule  ${rule}`,
    `${INDENT}cure  ${cure}`,
  ].join('\n');
}

/** Sent with `>`, received with `<`, as `curl -v` shows them. */
export function byteLines({ sent, received }: Bytes, indent: string): string[] {
  const marked = (text: string, mark: string) => text.split('\n').map((line) => `${indent}${mark} ${line}`.trimEnd());
  return [...(sent === '' ? [] : marked(sent, '>')), ...(received === '' ? [] : marked(received, '<'))];
}

export function verdictLine(reports: readonly StepReport[]): string {
  const broken = reports.filter(({ state }) => state === 'failed').map(({ step }) => step);
  const passed = reports.filter(({ state }) => state === 'ok').length;
  return broken.length === 0 ? `no step failed, ${passed} passed` : `failed: ${broken.join(', ')}`;
}
