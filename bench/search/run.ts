/**
 * Asks the search of `find_tools` the questions, and counts what a budget saves. Before it: bench/search/servers.ts.
 *
 *   npx tsx bench/search/run.ts [directory]
 *
 * Tokens are estimates; where the directory has `gpt-tokenizer` (`npm install gpt-tokenizer` there), they are compared
 * with those of o200k_base.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parameterText } from '../../src/budget/parameters.ts';
import { planOf } from '../../src/budget/plan.ts';
import { estimateTokens } from '../../src/budget/tokens.ts';
import { type SearchedTool, ToolIndex } from '../../src/budget/tool-index.ts';
import type { ListedEntry } from '../../src/catalog/view.ts';
import { type Question, readListed, readQuestions, serverDirectory } from './corpus.ts';

const FIRST = 3;
const MANY = 5_000;
const ROUNDS = 5;
const budgets = [4_000, 8_000, 20_000, 40_000];

interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: unknown;
}

const directory = process.argv[2] ?? serverDirectory;
const listed = readListed(directory);
const tools = Object.entries(listed).flatMap(([server, own]) => own.map((tool: Tool) => ({ server, tool })));
const ids = tools.map(({ server, tool }) => `${server}/${tool.name}`);
const searched: readonly SearchedTool[] = tools.map(({ server, tool }) => ({
  name: `${server}__${tool.name}`,
  own: tool.name,
  backend: server,
  title: tool.title ?? '',
  description: tool.description ?? '',
  parameters: parameterText(tool.inputSchema),
}));
const questions = readQuestions();
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Tools whose text contains most words of the question, in the order of the list. */
function bySubstring(text: string): readonly number[] {
  const words = text.toLowerCase().split(/\s+/);
  const counts = searched.map((tool) => {
    const whole = `${tool.name} ${tool.description}`.toLowerCase();
    return words.filter((word) => whole.includes(word)).length;
  });
  return counts
    .map((count, at) => ({ count, at }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count)
    .map(({ at }) => at);
}

/** The question as it is, somewhere in a tool's text. */
function byPhrase(text: string): readonly number[] {
  const wanted = text.toLowerCase();
  return searched.flatMap((tool, at) =>
    `${tool.name} ${tool.description}`.toLowerCase().includes(wanted) ? [at] : [],
  );
}

function report(way: string, find: (text: string) => readonly number[]): void {
  const isRight = ({ text, answers }: Question) =>
    find(text)
      .slice(0, FIRST)
      .some((at) => answers.includes(ids[at] ?? ''));
  const isNone = ({ id }: Question) => id.startsWith('n');
  const half = (rest: number) => questions.filter((one) => !isNone(one) && Number(one.id.slice(1)) % 2 === rest);
  const [odd, even] = [half(1).filter(isRight).length, half(0).filter(isRight).length];
  const empty = questions.filter((one) => isNone(one) && find(one.text).length === 0).length;
  say(
    `${way}: ${odd + even} of 100 in the first ${FIRST} (odd ${odd}, even ${even} of 50); nothing for ${empty} of 20`,
  );
}

async function speed(): Promise<void> {
  const many = Array.from({ length: MANY }, (_, at): SearchedTool => {
    const tool = searched[at % searched.length] as SearchedTool;
    const copy = Math.floor(at / searched.length);
    return { ...tool, name: `${tool.name}_${copy}`, own: `${tool.own}_${copy}`, backend: `${tool.backend}-${copy}` };
  });
  const began = performance.now();
  const index = await ToolIndex.of(many);
  const built = performance.now() - began;
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    for (const { text } of questions) {
      const start = performance.now();
      index.find(text, 5);
      times.push(performance.now() - start);
    }
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => (times[Math.floor(times.length * share)] ?? 0).toFixed(2);
  say(
    `${MANY} tools: index built in ${built.toFixed(0)} ms; a search takes ${at(0.5)} ms (median), ${at(0.95)} (95 %)`,
  );
}

async function tokens(): Promise<void> {
  const places = tools.map(({ server, tool }): ListedEntry => {
    const clientName = `${server}__${tool.name}`;
    const bytes = Buffer.from(JSON.stringify({ ...tool, name: clientName }));
    return { backend: server, name: tool.name, clientName, bytes };
  });
  const module = join(directory, 'node_modules/gpt-tokenizer/esm/encoding/o200k_base.js');
  const { countTokens } = existsSync(module) ? await import(pathToFileURL(module).href) : { countTokens: undefined };
  const exact = (all: readonly ListedEntry[]) =>
    countTokens === undefined ? '' : `, o200k_base: ${sum(all.map(({ bytes }) => countTokens(String(bytes))))}`;
  const estimated = sum(places.map(({ bytes }) => estimateTokens(String(bytes))));
  say(`${places.length} tools whole: ${estimated} tokens${exact(places)}`);
  for (const budget of budgets) {
    const plan = planOf(places, { tokens: budget }, true);
    const whole = places.length - plan.stubs.size;
    say(`budget ${budget}: ${plan.tokens} tokens${exact(plan.places)}; ${whole} whole, ${plan.stubs.size} stubs`);
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const index = await ToolIndex.of(searched);
report('find_tools', (text) => index.find(text, FIRST));
report('words as substrings', bySubstring);
report('the question as a substring', byPhrase);
await tokens();
await speed();
