import type { FixtureEra } from './fixture/http.ts';

export type SpecVersion = '2025-11-25' | '2026-07-28';

/** How many server scenarios the kit (0.2.0-alpha.12) has for a revision. Scenarios are counted, never checks. */
export const SCENARIOS: Readonly<Record<SpecVersion, number>> = { '2025-11-25': 33, '2026-07-28': 40 };

/** The fixture that speaks a revision without help: what it scores directly is what a gateway must not worsen. */
const NATIVE: Readonly<Record<SpecVersion, FixtureEra>> = { '2025-11-25': 'legacy', '2026-07-28': 'modern' };

export interface Row {
  readonly id: string;
  /** What stands behind the gateway. */
  readonly fixture: FixtureEra;
  /** What the kit speaks in front of it. */
  readonly spec: SpecVersion;
  /** The fixture of the direct run that this row is compared with. */
  readonly baseline: FixtureEra;
  /** The two sides speak different eras: reported only, until the bridge carries it. */
  readonly isBridge: boolean;
}

function row(fixture: FixtureEra, spec: SpecVersion): Row {
  const isBridge = fixture !== 'dual' && fixture !== NATIVE[spec];
  return { id: `${fixture}@${spec}`, fixture, spec, baseline: isBridge ? NATIVE[spec] : fixture, isBridge };
}

export const ROWS: readonly Row[] = [
  row('legacy', '2025-11-25'),
  row('modern', '2026-07-28'),
  row('dual', '2025-11-25'),
  row('dual', '2026-07-28'),
  row('modern', '2025-11-25'),
  row('legacy', '2026-07-28'),
];
