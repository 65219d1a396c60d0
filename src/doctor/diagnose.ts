/** `bascule doctor`: plays the opening of a client, step by step, in this order. */
import { findings, ruleLink } from './findings.ts';
import { type Bytes, told } from './peer/reply.ts';
import {
  authorizeStep,
  challengeStep,
  registrationStep,
  resourceStep,
  serverStep,
  tokenStep,
} from './steps/authorization.ts';
import { connectStep } from './steps/connect.ts';
import { discoverStep, initializeStep, openAgainStep, sseStep } from './steps/open.ts';
import { callStep, endStep, listStep } from './steps/use.ts';
import { type DoctorOptions, type DoctorStep, type StepOutcome, Visit } from './visit.ts';

const authorization = [challengeStep, resourceStep, serverStep, registrationStep, authorizeStep, tokenStep];
const probes = [discoverStep, initializeStep];
const use = [listStep, callStep, endStep];

const stepsOf = {
  http: [connectStep, ...probes, sseStep, ...authorization, openAgainStep, ...use],
  stdio: [connectStep, ...probes, ...use],
} as const satisfies Record<string, readonly DoctorStep[]>;

export interface StepReport {
  readonly step: string;
  readonly state: StepOutcome['state'];
  readonly ms: number;
  readonly detail: string;
  /** Of a failed step. */
  readonly failure?: {
    readonly finding: string;
    readonly what: string;
    readonly rule: string;
    readonly cure: string;
    readonly bytes?: Bytes;
  };
}

/** `say` is called after each step. Without a connection, the other steps are not tried. */
export async function diagnose(options: DoctorOptions, say: (report: StepReport) => void): Promise<StepReport[]> {
  const visit = new Visit(options);
  const reports: StepReport[] = [];
  try {
    for (const step of stepsOf[options.target.kind]) {
      const began = performance.now();
      const outcome = await step.run(visit);
      const report = reportOf(step.name, outcome, performance.now() - began, visit);
      reports.push(report);
      say(report);
      if (step === connectStep && outcome.state === 'failed') break;
    }
  } finally {
    await visit.close();
  }
  return reports;
}

function reportOf(step: string, outcome: StepOutcome, ms: number, { secrets }: Visit): StepReport {
  const { state, finding, bytes } = outcome;
  const report = { step, state, ms: Math.round(ms), detail: told(outcome.detail, secrets) };
  if (finding === undefined) return report;
  const { what, rule, cure } = findings[finding];
  const advice = outcome.cure === undefined ? cure : sentence(outcome.cure);
  const failure = { finding, what, rule: ruleLink(rule), cure: advice, ...(bytes && { bytes }) };
  return { ...report, failure };
}

/** The gateway's own cures are parts of log lines. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
