/** Asks a running gateway: over its control socket, or over the API of its console with a key. */
import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { basename, dirname, join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { printable } from '../../config/problems.ts';
import { httpAddress } from '../../config/shapes.ts';
import { isObject } from '../../wire/values.ts';
import { isListening } from '../stale-socket.ts';
import { API } from './server.ts';
import { ControlError, controlPath } from './socket-path.ts';

export interface AskFlags {
  readonly config?: string;
  readonly socket?: string;
  readonly url?: string;
  readonly keyEnv?: string;
  readonly json?: boolean;
}

export interface Question {
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  /** Present: a POST. */
  readonly body?: object;
}

/** Resolves with the body of the answer. Rejects with a ControlError. */
export type Ask = (question: Question) => Promise<Readonly<Record<string, unknown>>>;

/** Longer than the gateway lets a call take that a person has asked for. */
const ANSWER_MS = 70_000;
const ANSWER_BYTES = 16 * 1024 * 1024;

/** `config`: the config that the working directory has, or `--config` names. Undefined: it was reported as wrong. */
export async function askerFor(
  flags: AskFlags,
  config: () => Promise<Config | undefined>,
  remark: (text: string) => void,
): Promise<Ask | undefined> {
  if (flags.url !== undefined) return overHttp(flags.url, keyOf(flags));
  if (flags.keyEnv !== undefined) throw new ControlError('--key-env has an effect only beside --url');
  if (flags.socket !== undefined) return overSocket(flags.socket);
  const read = await config();
  if (read === undefined) return undefined;
  const own = controlPath(read.store.dir);
  if (flags.config !== undefined || (await isListening(own))) return overSocket(own);
  return overSocket(await onlyOther(read.store.dir, own, remark));
}

/** A gateway that was started elsewhere, or without a config file, where it is the only one. */
async function onlyOther(dir: string, own: string, remark: (text: string) => void): Promise<string> {
  const base = dirname(dir);
  // Only in the directory that has one directory for each gateway.
  const names = basename(base) === 'bascule' ? namesIn(base) : [];
  const paths = names.map((name) => join(base, name, 'control.sock'));
  const running = await Promise.all(paths.map(async (path) => ((await isListening(path)) ? [path] : [])));
  const [only, ...others] = running.flat();
  if (only === undefined) throw new ControlError(`no gateway is running (${own}): start one with \`bascule serve\``);
  if (others.length > 0)
    throw new ControlError(
      `several gateways are running; name the config of one with --config, or its socket with --socket:\n  ${[only, ...others].join('\n  ')}`,
    );
  remark(`asking the only gateway that is running: ${only}`);
  return only;
}

function namesIn(base: string): string[] {
  try {
    return readdirSync(base);
  } catch {
    return [];
  }
}

function keyOf({ keyEnv }: AskFlags): string | undefined {
  if (keyEnv === undefined) return undefined;
  const key = process.env[keyEnv];
  if (key === undefined || key === '') throw new ControlError(`the environment variable ${keyEnv} is not set`);
  return key;
}

function overSocket(socketPath: string): Ask {
  return (question) =>
    new Promise((resolve, reject) => {
      const body = question.body === undefined ? undefined : Buffer.from(JSON.stringify(question.body));
      const asked = request({
        socketPath,
        path: `${API}${targetOf(question)}`,
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...(body && { 'Content-Type': 'application/json', 'Content-Length': body.length }) },
        timeout: ANSWER_MS,
      });
      asked.on('timeout', () => asked.destroy(new ControlError('the gateway does not answer')));
      asked.on('error', (error) => reject(error instanceof ControlError ? error : unreachable(socketPath, error)));
      asked.on('response', (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > ANSWER_BYTES) response.destroy(new ControlError('the answer of the gateway is too long'));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          try {
            resolve(answerOf(response.statusCode ?? 0, Buffer.concat(chunks).toString()));
          } catch (error) {
            reject(error);
          }
        });
      });
      asked.end(body);
    });
}

function unreachable(socketPath: string, error: Error): ControlError {
  const code = 'code' in error ? String(error.code) : error.message;
  if (code === 'ENOENT' || code === 'ECONNREFUSED')
    return new ControlError(`no gateway is running (${socketPath}): start one with \`bascule serve\``);
  if (code === 'EACCES') return new ControlError(`${socketPath} belongs to another user: only that user can ask`);
  return new ControlError(`${socketPath} cannot be asked (${code})`);
}

function overHttp(url: string, key: string | undefined): Ask {
  if (!httpAddress.safeParse(url).success) throw new ControlError('--url must be an http:// or https:// address');
  const base = url.replace(/\/+$/, '');
  return async (question) => {
    const { body } = question;
    let answer: Response;
    try {
      answer = await fetch(`${base}${targetOf(question)}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          Accept: 'application/json',
          ...(key !== undefined && { Authorization: `Bearer ${key}` }),
          ...(body && { 'Content-Type': 'application/json' }),
        },
        ...(body && { body: JSON.stringify(body) }),
        // A key is sent to the address that the user named, and nowhere else.
        redirect: 'error',
        signal: AbortSignal.timeout(ANSWER_MS),
      });
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new ControlError(`${base} cannot be reached: ${cause}`);
    }
    return answerOf(answer.status, await answer.text());
  };
}

function targetOf({ path, query = {} }: Question): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

function answerOf(status: number, text: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ControlError(`the answer is not JSON (HTTP ${status}): is this the address of a console API?`);
  }
  if (!isObject(value)) throw new ControlError(`the answer is not an object (HTTP ${status})`);
  if (status === 200) return value;
  const { reason, message } = isObject(value.error) ? value.error : {};
  const told = `${String(message ?? `HTTP ${status}`)}${reason === undefined ? '' : ` (${String(reason)})`}`;
  throw new ControlError(printable(told));
}
