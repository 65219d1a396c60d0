/** Times and numbers for people. */

export function age(from: number | undefined, now: number): string {
  if (from === undefined) return 'unknown';
  const seconds = Math.max(0, Math.round((now - from) / 1000));
  if (seconds < 1) return 'just now';
  if (seconds < 120) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.round(hours / 24)} days ago`;
}

export function span(from: number, now: number): string {
  return age(from, now).replace(' ago', '').replace('just now', '0 s');
}

export function milliseconds(ms: number | undefined): string {
  if (ms === undefined) return '';
  if (ms < 10) return `${ms === 0 ? 0 : ms.toFixed(1)} ms`;
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function rate(perSecond: number | undefined): string {
  const value = perSecond ?? 0;
  if (value === 0) return '0/s';
  return `${value < 10 ? value.toFixed(value < 1 ? 2 : 1) : Math.round(value)}/s`;
}

export function clock(at: number): string {
  return new Date(at).toLocaleTimeString(undefined, { hour12: false });
}

export function count(value: number): string {
  return value.toLocaleString('en').replaceAll(',', '\u202f');
}
