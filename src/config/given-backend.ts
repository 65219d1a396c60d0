/** The one backend that a command line names: `serve -- node server.mjs`, or `serve https://server.example/mcp`. */
import { createHash } from 'node:crypto';
import type * as z from 'zod';
import { type BackendDraft, buildBackend } from './backends.ts';
import type { ConfigReading } from './bascule-yaml.ts';
import { ifDemanded } from './client-files.ts';
import { expand, type Variables } from './expand.ts';
import { defaultLimits } from './limits.ts';
import { onCommandLine } from './overrides.ts';
import type { Problem } from './problems.ts';
import * as shape from './shapes.ts';

export interface GivenBackend {
  /** The program and its arguments, or the URL alone. */
  readonly words: readonly string[];
  readonly kind: 'command' | 'url';
  /** `Name: value`, for a URL. `${NAME}` and `${file:/path}` are expanded, so that no secret is on the command line. */
  readonly headers?: readonly string[] | undefined;
  /** The gateway itself has no address then, so that the URL may be one that it would listen on. */
  readonly overStdio?: boolean;
}

export interface GivenReading {
  /** Tells one command line from another: it decides where state is kept, and finds gateways that start themselves. */
  readonly source: string;
  readonly reading: ConfigReading;
  readonly problems: readonly Problem[];
}

interface Surroundings extends Pick<Variables, 'env' | 'readFile'> {
  readonly cwd: string;
}

/** Whatever scheme it has: one that cannot be used is refused by name, not looked for as a file. */
export function isAddress(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
}

export function readGiven(given: GivenBackend, { cwd, env, readFile }: Surroundings): GivenReading {
  const problems: Problem[] = [];
  const variables = { env, predefined: {}, ...(readFile && { readFile }) };
  const draft = given.kind === 'url' ? urlDraft(given, variables, problems) : commandDraft(given, problems);
  const mark = createHash('sha256').update(JSON.stringify(given.words)).digest('hex').slice(0, 12);
  const backends = problems.length > 0 ? [] : [buildBackend(draft, cwd, defaultLimits)];
  return { source: `command line ${mark}`, reading: { backends, notices: [] }, problems };
}

function commandDraft({ words }: GivenBackend, problems: Problem[]): BackendDraft {
  const [command = '', ...args] = words;
  test(shape.oneLine, command, 'the program after `--`', problems);
  test(shape.argumentList, args, 'an argument after `--`', problems);
  return { name: nameOfCommand(words), command, args };
}

function urlDraft(given: GivenBackend, variables: Variables, problems: Problem[]): BackendDraft {
  const [url = ''] = given.words;
  test(shape.httpAddress, url, 'the URL', problems);
  const headers = readHeaders(given.headers ?? [], variables, problems);
  const isProven = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
  const name = plainName(shape.parseUrl(url)?.hostname ?? '');
  return { name, url, headers, transport: 'auto', ...(!isProven && { auth: ifDemanded }) };
}

/** No message quotes a value: it may be a secret. */
function readHeaders(lines: readonly string[], variables: Variables, problems: Problem[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const at = line.indexOf(':');
    const name = line.slice(0, Math.max(at, 0)).trim();
    const { text, faults } = expand(line.slice(at + 1).trim(), variables);
    for (const { message, expected } of faults) problems.push(complaint(message, expected));
    if (at < 1) problems.push(complaint('`--header` has a wrong value', 'a name, a colon and a value'));
    else if (shape.gatewayHeaders.has(name.toLowerCase()))
      problems.push(complaint(`the header \`${name}\` is set by the gateway itself`));
    else if (test(shape.headerMap, { [name]: text }, '`--header`', problems)) headers[name] = text;
  }
  return headers;
}

function test(expected: z.ZodType, value: unknown, what: string, problems: Problem[]): boolean {
  const checked = expected.safeParse(value);
  if (!checked.success) problems.push(complaint(`${what} has a wrong value`, checked.error.issues[0]?.message));
  return checked.success;
}

function complaint(message: string, expected?: string): Problem {
  return onCommandLine({ message, ...(expected !== undefined && { expected }) });
}

/** Programs that run another one: the name of what they run says more. */
const launchers: ReadonlySet<string> = new Set([
  ...['node', 'nodejs', 'npx', 'tsx', 'deno', 'bun', 'bunx', 'pnpm', 'yarn', 'npm'],
  ...['python', 'python3', 'uv', 'uvx', 'pipx', 'ruby', 'php', 'java', 'dotnet', 'sh', 'bash', 'env'],
]);
/** Their subcommands. */
const verbs: ReadonlySet<string> = new Set(['run', 'exec', 'x', 'dlx', 'tool']);

/** `node build/server.mjs` -> `server`; `npx -y @scope/files@1.2 /srv` -> `files`; `./notes --fast` -> `notes`. */
export function nameOfCommand([program = '', ...args]: readonly string[]): string {
  const own = baseOf(program);
  if (!launchers.has(own)) return plainName(own);
  const run = args.find((argument) => !argument.startsWith('-') && !verbs.has(argument) && !argument.includes('='));
  return plainName(run === undefined ? own : baseOf(run));
}

function baseOf(path: string): string {
  const last = path.split(/[\\/]/).at(-1) ?? '';
  return last.replace(/(?<=.)@[^@]*$/, '').replace(/(?<=.)\.[A-Za-z]{1,4}$/, '');
}

/** Names are part of paths, and of tool names where there are several backends. */
export function plainName(text: string): string {
  const clean = text
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^[-.]+|[-.]+$/g, '')
    .slice(0, 64);
  return clean === '' ? 'server' : clean;
}
