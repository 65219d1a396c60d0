/** `bascule status`, `tools` and `call`: asks a running gateway, and writes the answer for people or as JSON. */
import { printable } from '../../config/problems.ts';
import { isObject } from '../../wire/values.ts';
import type { Ask } from './client.ts';
import { ControlError } from './socket-path.ts';

export interface AskCommand {
  readonly ask: Ask;
  readonly say: (text: string) => void;
  readonly isJson: boolean;
  /** Over the control socket, as the user who runs the gateway. */
  readonly isLocal: boolean;
}

type AnswerFacts = Readonly<Record<string, unknown>>;

/** Each returns the exit code. */
export async function showStatus({ ask, say, isJson, isLocal }: AskCommand): Promise<number> {
  const facts = await ask({ path: '/overview' });
  const { url } = isLocal ? await ask({ path: '/link', body: {} }) : {};
  if (isJson) return asJson(say, { ...facts, ...(url !== undefined && { console: url }) });
  const gateway = isObject(facts.gateway) ? facts.gateway : {};
  const ran = duration(Number(facts.now) - Number(gateway.startedAt));
  say(`Bascule ${text(gateway.version)}, running for ${ran}, config ${text(gateway.source)}`);
  say('endpoints');
  for (const { path, backends, access } of rows(facts.endpoints))
    say(`  ${text(path)}  ${(Array.isArray(backends) ? backends : []).map(text).join(', ')}  (${text(access)})`);
  say('backends');
  for (const backend of rows(facts.backends)) {
    say(`  ${text(backend.name)}  ${stateOf(backend)}`);
    if (backend.cure !== undefined) say(`      ${text(backend.cure)}`);
  }
  showWorkers(say, rows(facts.workers), { ...gateway, now: facts.now });
  if (isObject(facts.pins)) for (const line of pinLines(facts.pins)) say(line);
  if (url !== undefined) say(`console  ${text(url)}`);
  return 0;
}

/** Where the gateway has several: what they have together, and each of them. */
function showWorkers(say: (line: string) => void, workers: readonly AnswerFacts[], all: AnswerFacts): void {
  if (workers.length === 0) return;
  say(`workers  ${workload(all)}`);
  for (const { worker, state, startedAt, ...own } of workers) {
    const ran = startedAt === undefined ? [] : [`running for ${duration(Number(all.now) - Number(startedAt))}`];
    const load = own.sessions === undefined ? [] : [workload(own)];
    say(`  ${text(worker)}  ${[text(state), ...load, ...ran].join(', ')}`);
  }
}

function workload({ sessions, inFlight }: AnswerFacts): string {
  return `${text(sessions)} sessions, ${text(inFlight)} requests in flight`;
}

function pinLines({ file, mode, problem, changeCount, changes }: AnswerFacts): readonly string[] {
  const isHolding = mode === 'hold';
  if (problem !== undefined) return [`pins  ${text(file)}: ${text(problem)}${isHolding ? '; everything is held' : ''}`];
  const count = changeCount === 0 ? 'as pinned' : `${text(changeCount)} ${isHolding ? 'held' : 'changed'}`;
  return [
    `pins  ${text(file)}: ${count}`,
    ...rows(changes).map(({ backend, kind, name, classes }) => {
      const what = [backend, kind, name].map(text).join(' ').trimEnd();
      return `  ${what}  ${(Array.isArray(classes) ? classes : []).map(text).join(', ')}`;
    }),
  ];
}

export interface ToolsWish {
  readonly as?: string;
  readonly endpoint?: string;
  /** Whether to say what each tool costs in a list. */
  readonly cost?: boolean;
}

export async function showTools({ ask, say, isJson }: AskCommand, { as, endpoint, cost }: ToolsWish): Promise<number> {
  const facts = await ask({ path: '/tools', query: { as, endpoint } });
  if (isJson) return asJson(say, facts);
  const tools = rows(facts.tools);
  const shown = tools.filter(({ state }) => state === 'shown');
  if (cost === true) return showCost(say, facts, shown);
  const width = Math.min(40, Math.max(0, ...shown.map(({ name }) => text(name).length)));
  for (const { name, description, title } of shown)
    say(`${text(name).padEnd(width)}  ${firstLine(description ?? title)}`.trimEnd());
  if (shown.length === 0) say(`${text(facts.endpoint)} shows no tool to ${text(facts.who)}`);
  for (const { name, state, why } of tools.filter((tool) => tool.state !== 'shown'))
    say(`not shown: ${text(name)}  ${text(state)}${why === undefined ? '' : `: ${text(why)}`}`);
  for (const { backend, state, message } of rows(facts.backends).filter((it) => it.state !== 'read'))
    say(`not read: ${text(backend)}  ${text(state)}${message === undefined ? '' : `: ${text(message)}`}`);
  return 0;
}

function showCost(say: AskCommand['say'], facts: AnswerFacts, shown: readonly AnswerFacts[]): number {
  const dearest = [...shown].sort((a, b) => Number(b.tokens) - Number(a.tokens));
  for (const { name, tokens } of dearest) say(`${text(tokens).padStart(7)}  ${text(name)}`);
  const { budget, listed, whole, stubs } = isObject(facts.cost) ? facts.cost : {};
  say(`${text(whole).padStart(7)}  all ${shown.length} tools, whole (estimated tokens)`);
  if (budget !== undefined)
    say(`${text(listed).padStart(7)}  as listed within the budget of ${text(budget)}: ${text(stubs)} in short form`);
  return 0;
}

export interface CallWish {
  readonly tool: string;
  /** As the user wrote them. */
  readonly arguments: string | undefined;
  readonly endpoint?: string | undefined;
}

/** 1 where the call failed, or the tool says that it did. */
export async function callTool({ ask, say, isJson }: AskCommand, wish: CallWish): Promise<number> {
  const args = argumentsOf(wish.arguments);
  const endpoint = wish.endpoint ?? (await mainEndpoint(ask));
  const facts = await ask({ path: '/tools/try', body: { endpoint, tool: wish.tool, arguments: args } });
  const result = isObject(facts.result) ? facts.result : undefined;
  const isFailed = facts.outcome !== 'result' || result?.isError === true;
  if (isJson) {
    asJson(say, facts);
    return isFailed ? 1 : 0;
  }
  if (result === undefined) throw new ControlError(failureOf(facts));
  say(resultText(result));
  return isFailed ? 1 : 0;
}

function argumentsOf(given: string | undefined): object {
  if (given === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(given);
  } catch {
    value = undefined;
  }
  if (isObject(value)) return value;
  throw new ControlError('the arguments must be a JSON object, such as \'{"city": "Ulm"}\'');
}

async function mainEndpoint(ask: Ask): Promise<string> {
  const { endpoints } = await ask({ path: '/overview' });
  const [first] = rows(endpoints).filter(({ protocol }) => protocol === 'mcp');
  if (first === undefined) throw new ControlError('this gateway has no MCP endpoint');
  return String(first.path);
}

/** What the tool says, in the order in which it says it. Everything but text is shown as JSON. */
function resultText(result: AnswerFacts): string {
  const { content } = result;
  if (!Array.isArray(content) || content.length === 0) return shownJson(result);
  return content
    .map((item: unknown) =>
      isObject(item) && item.type === 'text' && typeof item.text === 'string' ? shownLines(item.text) : shownJson(item),
    )
    .join('\n');
}

function failureOf({ outcome, error, message, reason }: AnswerFacts): string {
  const told = isObject(error) ? error.message : message;
  return `${text(outcome)}: ${text(told)}${reason === undefined ? '' : ` (${text(reason)})`}`;
}

function stateOf({ state, message, cause, eras, revision, server }: AnswerFacts): string {
  const speaks = [...(Array.isArray(eras) ? eras : []), revision, server].filter((part) => part !== undefined);
  const why = [message, cause].filter((part) => part !== undefined).map(text);
  return [text(state), ...speaks.map(text), ...why].join(', ');
}

function asJson(say: (line: string) => void, facts: AnswerFacts): number {
  say(shownJson(facts));
  return 0;
}

/** JSON escapes only the first 32 control characters. Scripts read the same value. */
function shownJson(value: unknown): string {
  const escaped = (found: string) => `\\u00${found.charCodeAt(0).toString(16)}`;
  return JSON.stringify(value, null, 2).replaceAll(/[\u007f-\u009f]/g, escaped);
}

/** Control characters could command a terminal. */
function shownLines(value: string): string {
  return value.replaceAll(/[^\P{Cc}\n\t]/gu, '\ufffd');
}

function rows(value: unknown): AnswerFacts[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function text(value: unknown): string {
  return printable(typeof value === 'string' ? value : String(value));
}

/** Of a description that may be long. */
function firstLine(value: unknown): string {
  const [first = ''] = typeof value === 'string' ? value.trim().split('\n', 1) : [];
  return printable(first.length > 80 ? `${first.slice(0, 79)}…` : first);
}

const units = [
  { ms: 86_400_000, name: 'd' },
  { ms: 3_600_000, name: 'h' },
  { ms: 60_000, name: 'min' },
  { ms: 1_000, name: 's' },
] as const;

/** The two largest units: `3 h 2 min`. */
function duration(ms: number): string {
  let rest = Math.max(0, ms);
  const parts: string[] = [];
  for (const unit of units) {
    const count = Math.floor(rest / unit.ms);
    rest -= count * unit.ms;
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit.name}`);
  }
  return parts.length === 0 ? '0 s' : parts.join(' ');
}
