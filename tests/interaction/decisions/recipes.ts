/** The recipes of docs/policy-decisions.md. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Json } from '../harness/client.ts';

const page = readFileSync(new URL('../../../docs/policy-decisions.md', import.meta.url), 'utf8');

export interface DecisionRecipe {
  /** The first block of YAML: a part of bascule.yaml. */
  readonly config: Json;
  readonly rego: string | undefined;
  readonly cedar: string | undefined;
  readonly json: string | undefined;
  /** The block of YAML after the first. */
  readonly second: string | undefined;
}

export function recipe(title: string): DecisionRecipe {
  const section = page.split(/^### /m).find((part) => part.startsWith(`${title}\n`));
  if (section === undefined) throw new Error(`docs/policy-decisions.md has no recipe "${title}"`);
  const blocks = [...section.matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)];
  const of = (language: string) => blocks.filter(([, found]) => found === language).map(([, , text]) => text ?? '');
  const [config, second] = of('yaml');
  return { config: parse(config ?? ''), second, rego: of('rego')[0], cedar: of('cedar')[0], json: of('json')[0] };
}
