/** Figures and tables as Markdown. */
import type { Spread } from './stats.ts';

export const digits = (value: number, places: number) => value.toFixed(places);
export const range = ({ median, least, most }: Spread, places: number) =>
  `${digits(median, places)} (${digits(least, places)}–${digits(most, places)})`;
export const grouped = (value: number) => Math.round(value).toLocaleString('en-US');
export const micros = (value: number) => (value < 1000 ? digits(value, 1) : grouped(value));

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((cells) => (cells[column] ?? '').length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows.map(line)].join('\n');
}
