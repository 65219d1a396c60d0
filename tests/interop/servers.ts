/** Other people's servers, and programs in other people's libraries, behind the gateway. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment, Step } from './job.ts';
import { bin, built, type Installed, npmFile } from './software.ts';
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
  /** Where they are others over HTTP. */
  readonly erasOverHttp?: readonly ('legacy' | 'modern')[];
  readonly stdio?: (workdir: string) => Launch;
  /** Serves at `/mcp` of the port. */
  readonly http?: (port: number, workdir: string) => Launch;
  readonly steps: readonly Step[];
  /** What it asks or tells by a timer of its own, once or more often: the number of equal ones means nothing. */
  readonly repeats?: readonly string[];
  /** Files that have to be in its working directory. */
  readonly files?: Readonly<Record<string, string>>;
  /** A file of its working directory in which it keeps state: removed before each run. */
  readonly keepsIn?: string;
  /** In the short form every client is tried with it, over this transport. */
  readonly referenceBack?: 'stdio' | 'http';
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

const DUAL = ['legacy', 'modern'] as const;

/** A program of ours in a Go library. */
function go(name: string, version: string, program: string): Server {
  const command = built('go', program);
  return {
    name,
    version,
    needs: 'go',
    eras: DUAL,
    stdio: () => ({ command, args: ['stdio'] }),
    http: (port) => ({ command, args: ['http', String(port)] }),
    steps: programSteps(['sampling', 'roots', 'logging', 'elicitation', 'completion']),
  };
}

/** A server from the npm registry that runs on this Node. */
function npm(name: string, version: string, file: string, steps: readonly Step[]): Server {
  const stdio = (): Launch => ({ command: process.execPath, args: [npmFile(file), 'stdio'] });
  return { name, version, needs: 'npm', eras: ['legacy'], stdio, steps: [...LISTS, ...steps, ...MISTAKES] };
}

/** A server from the Python registry. */
function pypi(name: string, version: string, args: readonly string[], steps: readonly Step[]): Server {
  const needs = { venv: 'python-v2' };
  const stdio = (): Launch => ({ command: bin(needs.venv, 'python'), args: ['-m', ...args] });
  return { name, version, needs, eras: DUAL, stdio, steps: [...LISTS, ...steps, ...MISTAKES] };
}

const everything = npmFile('@modelcontextprotocol/server-everything/dist/index.js');
const prompt = (name: string, args: Readonly<Record<string, string>>): Step => ({
  method: 'prompts/get',
  params: { name, arguments: args },
});
const entity = { name: 'Ada', entityType: 'person', observations: ['writes programs'] };

export const SERVER_ROWS: readonly Server[] = [
  mcp1('1.3.0', EARLY, ['stdio']),
  mcp1('1.6.0', EARLY, ['stdio']),
  mcp1('1.12.4', ALL, BOTH),
  {
    ...python('mcp (Python)', '2.3.0', {
      venv: 'python-v2',
      file: 'python_mcp2.py',
      features: ALL,
      eras: DUAL,
      transports: BOTH,
    }),
    referenceBack: 'http',
  },
  python('FastMCP', '2.14.7', {
    venv: 'fastmcp-2',
    file: 'python_fastmcp.py',
    features: ['sampling', 'roots', 'log', 'elicitation'],
    eras: ['legacy'],
    transports: BOTH,
  }),
  python('FastMCP', '4.1.2', {
    venv: 'python-v2',
    file: 'python_fastmcp.py',
    features: ['sampling', 'roots', 'log', 'elicitation'],
    eras: DUAL,
    transports: BOTH,
  }),
  // Over HTTP with sessions it is legacy only.
  { ...go('go-sdk', '1.8.0', 'server-gosdk'), erasOverHttp: ['legacy'] },
  go('mcp-go', '1.2.1', 'server-mcpgo'),
  {
    name: 'rmcp',
    version: '3.8.0',
    needs: 'rust',
    eras: DUAL,
    stdio: () => ({ command: built('rust', 'server-rmcp'), args: [] }),
    steps: [
      ...LISTS,
      call('echo', { message: 'hello' }),
      call('add', { a: 2, b: 40 }),
      call('add', { a: 'two' }),
      call('fail'),
      ...MISTAKES,
    ],
    isLong: true,
  },
  {
    ...npm('server-everything', '2026.8.31', '@modelcontextprotocol/server-everything/dist/index.js', [
      call('echo', { message: 'hello' }),
      call('get-sum', { a: 2, b: 40 }),
      call('get-sum', { a: 'two' }),
      call('get-tiny-image'),
      call('get-structured-content', { location: 'Chicago' }),
      call('get-annotated-message', { messageType: 'error', includeImage: true }),
      call('get-resource-links', { count: 3 }),
      call('trigger-long-running-operation', { duration: 0.2, steps: 2 }),
      call('trigger-sampling-request', { prompt: 'hello', maxTokens: 10 }),
      call('trigger-elicitation-request'),
      call('get-roots-list'),
      prompt('simple-prompt', {}),
      prompt('args-prompt', { city: 'Paris', state: 'Texas' }),
      { method: 'resources/read', params: { uri: 'demo://resource/static/document/features.md' } },
      { method: 'logging/setLevel', params: { level: 'error' } },
    ]),
    repeats: ['roots/list', 'notifications/message'],
    http: (port) => ({ command: process.execPath, args: [everything, 'streamableHttp'], env: { PORT: String(port) } }),
    referenceBack: 'stdio',
  },
  {
    ...npm('server-filesystem', '2026.8.31', '@modelcontextprotocol/server-filesystem/dist/index.js', [
      call('list_directory', { path: 'data' }),
      call('read_text_file', { path: 'data/notes.txt' }),
      call('read_text_file', { path: '/etc/passwd' }),
      call('read_text_file', { file: 'x' }),
      call('list_allowed_directories'),
    ]),
    stdio: (workdir) => ({
      command: process.execPath,
      args: [npmFile('@modelcontextprotocol/server-filesystem/dist/index.js'), workdir],
    }),
    files: { 'data/notes.txt': 'Grüße\n' },
  },
  {
    ...npm('server-memory', '2026.8.31', '@modelcontextprotocol/server-memory/dist/index.js', [
      call('create_entities', { entities: [entity] }),
      call('search_nodes', { query: 'Ada' }),
      call('open_nodes', { names: 'not a list' }),
      call('delete_entities', { entityNames: ['Ada'] }),
      call('read_graph'),
    ]),
    stdio: (workdir) => ({
      command: process.execPath,
      args: [npmFile('@modelcontextprotocol/server-memory/dist/index.js')],
      env: { MEMORY_FILE_PATH: join(workdir, 'memory.json') },
    }),
    keepsIn: 'memory.json',
  },
  npm('server-sequential-thinking', '2026.8.31', '@modelcontextprotocol/server-sequential-thinking/dist/index.js', [
    call('sequentialthinking', { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }),
    call('sequentialthinking', { thought: 1 }),
  ]),
  {
    ...npm('context7-mcp', '4.1.1', '@upstash/context7-mcp/dist/index.js', [call('resolve-library-id', { wrong: 1 })]),
    stdio: () => ({ command: process.execPath, args: [npmFile('@upstash/context7-mcp/dist/index.js')] }),
    eras: DUAL,
  },
  {
    ...npm('playwright-mcp', '0.0.83', '@playwright/mcp/cli.js', [call('browser_navigate', { wrong: 1 })]),
    stdio: () => ({ command: process.execPath, args: [npmFile('@playwright/mcp/cli.js'), '--headless'] }),
  },
  pypi(
    'mcp-server-time',
    '2026.10.19',
    ['mcp_server_time', '--local-timezone', 'UTC'],
    [
      call('convert_time', { source_timezone: 'UTC', time: '12:30', target_timezone: 'Asia/Tokyo' }),
      call('convert_time', { source_timezone: 'Nowhere', time: '12:30', target_timezone: 'UTC' }),
    ],
  ),
  pypi(
    'mcp-server-git',
    '2026.10.19',
    ['mcp_server_git'],
    [call('git_status', { repo_path: '/nowhere' }), call('git_status', { wrong: 1 })],
  ),
  {
    ...pypi(
      'mcp-server-sqlite',
      '2025.4.25',
      [],
      [
        call('list_tables'),
        call('read_query', { query: 'SELECT 1 AS one' }),
        call('write_query', { query: 'SELECT 1' }),
        prompt('mcp-demo', { topic: 'ships' }),
        { method: 'resources/read', params: { uri: 'memo://insights' } },
      ],
    ),
    // It does not run on version 2 of the SDK.
    needs: { venv: 'python-v1' },
    eras: ['legacy'],
    stdio: (workdir) => ({
      command: bin('python-v1', 'python'),
      args: ['-c', 'import mcp_server_sqlite; mcp_server_sqlite.main()', '--db-path', join(workdir, 'test.db')],
    }),
    keepsIn: 'test.db',
  },
];
