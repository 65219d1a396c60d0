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
  /** The two sides speak different eras. */
  readonly isBridge: boolean;
  /** What cannot be had, and why. One that is no longer needed is a deviation itself. */
  readonly excuses: readonly Excuse[];
}

export interface Excuse {
  readonly scenario: string;
  /** How the message of the deviation begins. */
  readonly message: string;
  readonly why: string;
}

const polling = 'a modern server has no way to close a stream and be polled, so that the tool for it just answers';
const keys =
  'the scenario demands the key `user_name`; a legacy question has none, and "keys are server-assigned string identifiers" (basic/patterns/mrtr)';

const EXCUSES: Readonly<Record<string, readonly Excuse[]>> = {
  'modern@2025-11-25': [
    { scenario: 'server-sse-polling', message: 'lost server-sse-priming-event', why: polling },
    { scenario: 'server-sse-polling', message: 'lost server-sse-retry-field', why: polling },
    { scenario: 'server-sse-polling', message: 'lost server-sse-disconnect-resume', why: polling },
  ],
  'legacy@2026-07-28': [
    {
      scenario: 'input-required-result-basic-elicitation',
      message: 'through: failed sep-2322-elicitation-incomplete',
      why: keys,
    },
    {
      scenario: 'input-required-result-ignore-extra-params',
      message: 'WARNING sep-2322-ignore-unexpected-params',
      why: keys,
    },
  ],
};

function row(fixture: FixtureEra, spec: SpecVersion): Row {
  const isBridge = fixture !== 'dual' && fixture !== NATIVE[spec];
  const id = `${fixture}@${spec}`;
  return { id, fixture, spec, baseline: isBridge ? NATIVE[spec] : fixture, isBridge, excuses: EXCUSES[id] ?? [] };
}

export const ROWS: readonly Row[] = [
  row('legacy', '2025-11-25'),
  row('modern', '2026-07-28'),
  row('dual', '2025-11-25'),
  row('dual', '2026-07-28'),
  row('modern', '2025-11-25'),
  row('legacy', '2026-07-28'),
];
