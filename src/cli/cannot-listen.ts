/** Says why an address cannot be bound, and what to change. */
import type { MetricsConfig } from '../config/metrics.ts';

/** `setting`: the option or config key that has the address. */
export function cannotListen({ host, port }: MetricsConfig, error: unknown, setting: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  const why = code === 'EADDRINUSE' ? `another process is listening there; choose another port with ${setting}` : code;
  return `cannot listen on ${host}:${port}: ${why}`;
}
