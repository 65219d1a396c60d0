/** Other people's servers, and programs in other people's libraries, behind the gateway. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment, Step } from './job.ts';
import { bin, type Installed } from './software.ts';
import { call, type Feature, LISTS, MISTAKES, programSteps } from './steps.ts';

const SERVERS = fileURLToPath(new URL('./servers/', import.meta.url));

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Environment;
}

export interface Server {
  readonly name: string;
  readonly version: string;
  readonly needs: Installed;
  readonly eras: readonly ('legacy' | 'modern')[];
  readonly stdio?: (workdir: string) => Launch;
  /** Serves at `/mcp` of the port. */
  readonly http?: (port: number, workdir: string) => Launch;
  readonly steps: readonly Step[];
  /** Files that have to be in its working directory. */
  readonly files?: Readonly<Record<string, string>>;
  /** In the short form every client is tried with it. */
  readonly isReference?: true;
  /** Only in the long form. */
  readonly isLong?: true;
}

interface Program {
  readonly venv: string;
  readonly file: string;
  readonly features: readonly Feature[];
  readonly eras: Server['eras'];
  readonly transports: readonly ('stdio' | 'http')[];
}

/** A program of ours in a Python library. */
function python(name: string, version: string, { venv, file, features, eras, transports }: Program): Server {
  const command = bin(venv, 'python');
  const launch = (...args: string[]): Launch => ({ command, args: [join(SERVERS, file), ...args] });
  return {
    name,
    version,
    needs: { venv },
    eras,
    ...(transports.includes('stdio') ? { stdio: () => launch('stdio') } : {}),
    ...(transports.includes('http') ? { http: (port: number) => launch('http', String(port)) } : {}),
    steps: programSteps(features),
  };
}

const EARLY: readonly Feature[] = ['sampling', 'roots', 'log'];
const ALL: readonly Feature[] = [...EARLY, 'elicitation', 'completion'];
const BOTH = ['stdio', 'http'] as const;

/** The official Python SDK, 1.x. */
const mcp1 = (version: string, features: readonly Feature[], transports: Program['transports']): Server =>
  python('mcp (Python)', version, {
    venv: `mcp-${version}`,
    file: 'python_mcp1.py',
    features,
    eras: ['legacy'],
    transports,
  });

export const SERVER_ROWS: readonly Server[] = [
  mcp1('1.3.0', EARLY, ['stdio']),
  mcp1('1.6.0', EARLY, ['stdio']),
  mcp1('1.12.4', ALL, BOTH),
  python('mcp (Python)', '2.3.0', {
    venv: 'mcp-2.3.0',
    file: 'python_mcp2.py',
    features: ALL,
    eras: ['legacy', 'modern'],
    transports: BOTH,
  }),
];
export { call, LISTS, MISTAKES };
