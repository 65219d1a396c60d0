/** Numbers as charts and tables show them. */

const KiB = 1024;
const MiB = KiB * KiB;

export function figure(value: number): string {
  if (value === 0) return '0';
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return Number(value.toPrecision(value >= 10 ? 3 : 2)).toString();
}

function sizeLabel(bytes: number): string {
  return bytes < MiB ? `${figure(bytes / KiB)} KiB` : `${figure(bytes / MiB)} MiB`;
}

export function valueLabel(x: number, inBytes: boolean): string {
  return inBytes ? sizeLabel(x) : figure(x);
}
