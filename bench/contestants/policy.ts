/**
 * What it costs to decide and to write it down: a gateway with rules and an audit trail, and one with neither. In the
 * usual deployment clients have keys, too, and several backends stand behind one endpoint.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolNames } from '../programs/payloads.ts';
import { missing, overHttpWith, serve } from './bascule.ts';
import type { Contestant, Place, Running, StartOptions } from './contestant.ts';
import { byKey } from './identity.ts';
import { behindOne, cachedPaths } from './many.ts';

const MANY_RULES = 1_000;
const USUAL_RULES = 100;
const USUAL_BACKENDS = 10;

/** What large policies are made of: most rules name a tool of somebody, some are patterns, some look at arguments. */
export function makeRules(count: number, tool: string): object[] {
  const own = [
    { id: 'use', effect: 'allow', what: ['call'], on: { tools: [tool] } },
    {
      id: 'no-secrets',
      effect: 'deny',
      what: ['call'],
      on: { tools: [tool] },
      when: "arguments.text.contains('/etc/shadow')",
    },
  ];
  const others = Array.from({ length: count - own.length }, (_, at) => {
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

interface Rules {
  readonly count: number;
  /** The tool that is called, or a pattern for all of them. */
  readonly tool: string;
}

/** Runs a gateway with these rules and an audit trail in a file. */
async function decided(rules: Rules, start: (settings: object) => Promise<Running>): Promise<Running> {
  const directory = mkdtempSync(join(tmpdir(), 'bascule-bench-'));
  const audit = { to: join(directory, 'audit.jsonl') };
  const running = await start({ policy: { rules: makeRules(rules.count, rules.tool) }, audit });
  return andThen(running, async () => rmSync(directory, { recursive: true, force: true }));
}

/** The same for clients with a key. */
async function usual(tool: string, start: (settings: object) => Promise<Running>): Promise<Running> {
  const { identity, headers, stop } = await byKey();
  const running = await decided({ count: USUAL_RULES, tool }, (settings) => start({ identity, ...settings }));
  const at = (target: Parameters<Running['at']>[0]): Place => ({ ...running.at(target), headers });
  return andThen({ ...running, at }, stop);
}

function andThen(running: Running, clean: () => Promise<void>): Running {
  return {
    ...running,
    stop: async () => {
      await running.stop();
      await clean();
    },
  };
}

function merged(settings: object, { nodeArgs }: StartOptions): Promise<Running> {
  return behindOne(cachedPaths(USUAL_BACKENDS), (servers) =>
    serve({ backends: servers, ...settings }, 'bascule.yaml', nodeArgs),
  );
}

const common = { group: 'policy', missing } as const;
const ofUsual = { group: 'usual', missing } as const;

export const withNoRules: Contestant = {
  ...common,
  name: 'no rules',
  isFloor: true,
  start: (options) => overHttpWith({}, options),
};
export const withRules: Contestant = {
  ...common,
  name: 'rules and audit',
  start: (options) =>
    decided({ count: MANY_RULES, tool: toolNames.echo }, (settings) => overHttpWith(settings, options)),
};
export const withKeyAndRules: Contestant = {
  ...common,
  name: 'key, 100 rules and audit',
  start: (options) => usual(toolNames.echo, (settings) => overHttpWith(settings, options)),
};

export const mergedAlone: Contestant = {
  ...ofUsual,
  name: 'merged endpoint',
  isFloor: true,
  start: (options) => merged({}, options),
};
export const usualDeployment: Contestant = {
  ...ofUsual,
  name: 'key, 100 rules and audit',
  start: (options) => usual(`*__${toolNames.echo}`, (settings) => merged(settings, options)),
};
