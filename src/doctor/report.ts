/** What `bascule doctor` prints about a step. */
import type { StepReport } from './diagnose.ts';
import type { Bytes } from './peer/reply.ts';

const words = { ok: 'ok     ', failed: 'FAILED ', skipped: 'skipped' } as const;
const NAME_WIDTH = 17;
const INDENT = ' '.repeat(9);
/** Where the details of a step begin. */
const DETAIL = ' '.repeat(28);
const CURE = ' '.repeat(15);
const WIDTH = 118;

export function stepLines({ step, state, ms, detail, failure }: StepReport): string {
  const head = `${words[state]}  ${step.padEnd(NAME_WIDTH)}  `;
  if (failure === undefined) return wrapped(`${head}${detail} (${ms} ms)`, DETAIL);
  const { what, rule, cure, bytes } = failure;
  return [
    wrapped(`${head}${what}: ${detail} (${ms} ms)`, DETAIL),
    ...(bytes === undefined ? [] : byteLines(bytes, INDENT)),
    `${INDENT}rule  ${rule}`,
    wrapped(`${INDENT}cure  ${cure}`, CURE),
  ].join('\n');
}

/** Breaks a long line between words. Further lines are indented. */
function wrapped(text: string, indent: string): string {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > WIDTH) {
    const at = rest.lastIndexOf(' ', WIDTH);
    if (at <= indent.length) break;
    lines.push(rest.slice(0, at));
    rest = `${indent}${rest.slice(at + 1)}`;
  }
  return [...lines, rest].join('\n');
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
