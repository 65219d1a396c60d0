/** The scenarios of the official kit for tasks, which no revision contains: they run without one. */
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { checksOf } from '../extensions/kit-checks.ts';
import { startGateway } from '../harness/gateway.ts';
import { openWorkshop } from './workshop.ts';

const scenarios = [
  'tasks-lifecycle',
  'tasks-capability-negotiation',
  'tasks-wire-fields',
  'tasks-request-state-removal',
  'tasks-mrtr-input',
  'tasks-request-headers',
  'tasks-dispatch-and-envelope',
  'tasks-status-notifications',
  'tasks-required-task-error',
  'tasks-mrtr-composition',
];

it.each(scenarios)(
  '%s gives the same through the gateway as directly',
  { ...verifies('gateway:tasks:kit'), timeout: 120_000 },
  async (scenario) => {
    const workshop = await openWorkshop('jobs');
    const other = await openWorkshop('other', { capabilities: { prompts: {} } });
    const gateway = await startGateway({
      backends: { jobs: { url: workshop.backend.url }, other: { url: other.backend.url } },
      // The kit calls tools by their own names.
      endpoints: [
        { path: '/merged', names: 'collision' },
        { path: '/one', backends: ['jobs'] },
      ],
    });
    const direct = await checksOf(workshop.backend.url, scenario);
    expect(direct.filter((check) => / (SUCCESS|SKIPPED)/.test(check)).length).toBeGreaterThan(0);
    expect(direct.filter((check) => check.includes('FAILURE'))).toEqual([]);
    for (const path of ['/one', '/merged'])
      expect(await checksOf(`${gateway.origin}${path}`, scenario)).toEqual(direct);
  },
);
