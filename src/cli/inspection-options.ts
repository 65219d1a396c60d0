/** Reads the options of `bascule doctor` and `bascule check`. */
import { describeRange, type QuantityRange, readQuantity } from '../config/quantity.ts';
import { objectIn, parsed } from '../doctor/peer/reply.ts';
import type { NamedCall, Target } from '../doctor/visit.ts';
import type { Era } from '../wire/revisions.ts';

/** As the command line gives them. */
export interface InspectionFlags {
  readonly era: string;
  readonly header: readonly string[];
  readonly timeout: string;
  readonly call?: readonly string[];
  readonly json?: boolean;
  readonly register?: boolean;
  readonly login?: boolean;
  readonly clientId?: string;
  readonly strict?: boolean;
}

export interface InspectionOptions {
  readonly target: Target;
  readonly eras: readonly Era[];
  readonly timeoutMs: number;
  readonly call?: NamedCall;
}

/** Options that cannot be used. The message says why, and what to write instead. */
class InspectionError extends Error {
  override readonly name = 'InspectionError';
}

const timeoutRange: QuantityRange = { unit: 'ms', min: 100, max: 600_000 };

const eras: ReadonlyMap<string, readonly Era[]> = new Map<string, readonly Era[]>([
  ['both', ['modern', 'legacy']],
  ['modern', ['modern']],
  ['legacy', ['legacy']],
]);

/** Runs the command, or says what is wrong with its options. Returns the exit code. */
export async function withOptions(
  words: readonly string[],
  flags: InspectionFlags,
  run: (options: InspectionOptions) => Promise<number>,
): Promise<number> {
  let options: InspectionOptions;
  try {
    options = readOptions(words, flags);
  } catch (error) {
    if (!(error instanceof InspectionError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  }
  // A reader that is gone, as with `| head`, ends the command, and with it the processes that it started.
  process.stdout.on('error', () => process.exit(1));
  return run(options);
}

/** Throws an InspectionError. */
function readOptions(words: readonly string[], flags: InspectionFlags): InspectionOptions {
  const timeoutMs = readQuantity(flags.timeout, timeoutRange);
  if (timeoutMs === undefined) throw new InspectionError(`--timeout: expected ${describeRange(timeoutRange)}`);
  const asked = eras.get(flags.era);
  if (asked === undefined) throw new InspectionError('--era: expected legacy, modern or both');
  const call = flags.call === undefined ? {} : { call: readCall(flags.call) };
  return { target: readTarget(words, flags.header), eras: asked, timeoutMs, ...call };
}

function readTarget([first = '', ...others]: readonly string[], headers: readonly string[]): Target {
  if (!/^https?:\/\//i.test(first)) {
    // `example.com/mcp` is a forgotten scheme more often than a program.
    if (others.length === 0 && !process.argv.includes('--'))
      throw new InspectionError('expected a URL that begins with http:// or https://, or a command after `--`');
    if (headers.length > 0) throw new InspectionError('--header: a process has no headers; set its environment');
    return { kind: 'stdio', command: first, args: others };
  }
  if (!URL.canParse(first)) throw new InspectionError('the URL cannot be read: expected http(s)://host[:port]/path');
  if (others.length > 0) throw new InspectionError(`one URL is expected; ${others.length} more words follow it`);
  const { username, password } = new URL(first);
  if (username !== '' || password !== '')
    throw new InspectionError('the URL has a password: use --header "Authorization: Basic ..." instead');
  return { kind: 'http', url: first, headers: readHeaders(headers) };
}

/** The messages do not repeat what was written: it may be a secret. */
function readHeaders(written: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of written) {
    const [, name, value] = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*([\t\x20-\x7e]*)$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw new InspectionError('--header: expected `Name: value` in ASCII, such as "Authorization: Bearer ..."');
    headers[name.toLowerCase()] = value.trim();
  }
  return headers;
}

function readCall([tool = '', json = '{}', ...others]: readonly string[]): NamedCall {
  const args = objectIn(parsed(json)?.value);
  if (args === undefined || others.length > 0)
    throw new InspectionError(
      '--call: expected a tool and, if it has arguments, one JSON object: --call add \'{"a":1}\'',
    );
  return { tool, args };
}
