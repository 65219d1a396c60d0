/**
 * What it costs to decide and to write it down: a gateway with a thousand rules and an audit trail, and one with
 * neither.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolNames } from '../programs/payloads.ts';
import { missing, overHttpWith } from './bascule.ts';
import type { Contestant, Running, StartOptions } from './contestant.ts';

const RULES = 1_000;

/** What large policies are made of: most rules name a tool of somebody, some are patterns, some look at arguments. */
function makeRules(): object[] {
  const own = [
    { id: 'use', effect: 'allow', what: ['call'], on: { tools: [toolNames.echo] } },
    {
      id: 'no-secrets',
      effect: 'deny',
      what: ['call'],
      on: { tools: [toolNames.echo] },
      when: "arguments.text.contains('/etc/shadow')",
    },
  ];
  const others = Array.from({ length: RULES - own.length }, (_, at) => {
    const id = `rule-${at}`;
    switch (at % 10) {
      case 0:
        return { id, effect: 'deny', what: ['call'], on: { tools: [`team${at}_*`] } };
      case 1:
        return { id, effect: 'deny', what: ['call'], on: { tools: [`*_delete_${at}`] } };
      case 2:
        return { id, effect: 'deny', what: ['call'], on: { tools: [`*drop_${at}*`] } };
      case 3:
        return {
          id,
          effect: 'allow',
          what: ['call'],
          on: { tools: [`tool_${at}`] },
          with: { arguments: { path: { glob: '/srv/**' } } },
        };
      case 4:
        return { id, effect: 'allow', what: ['read'], on: { uris: [`file:///srv/${at}/**`] } };
      default:
        return {
          id,
          effect: 'allow',
          who: { groups: [`group-${at % 50}`] },
          what: ['call'],
          on: { tools: [`t${at}`] },
        };
    }
  });
  return [...own, ...others];
}

async function withPolicy(options: StartOptions): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), 'bascule-bench-'));
  const settings = { policy: { rules: makeRules() }, audit: { to: join(directory, 'audit.jsonl') } };
  const running = await overHttpWith(settings, options);
  return {
    ...running,
    stop: async () => {
      await running.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

const common = { group: 'policy', missing } as const;

export const withNoRules: Contestant = {
  ...common,
  name: 'no rules',
  isFloor: true,
  start: (options) => overHttpWith({}, options),
};
export const withRules: Contestant = { ...common, name: 'rules and audit', start: withPolicy };
