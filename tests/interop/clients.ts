/** Other people's clients, in front of the gateway. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Era } from './job.ts';
import { bin, built, CACHE, type Installed, npmFile } from './software.ts';

const CLIENTS = fileURLToPath(new URL('./clients/', import.meta.url));

export interface Client {
  readonly name: string;
  readonly version: string;
  readonly needs: Installed;
  /** `auto`: the library chooses, and takes the newest that the other side has. */
  readonly eras: readonly Era[];
  readonly transports: readonly ('stdio' | 'http')[];
  /** The command that takes the file with the job. */
  readonly driver: readonly string[];
  /** Methods that the library offers to its users; the script leaves out the others. */
  readonly methods: readonly string[] | 'all';
  /** It cannot answer what servers ask: tools that ask are left out of the script. */
  readonly isSilent?: true;
  /** Tools that ask for something that its library does not know: without the gateway, the question ends the client. */
  readonly leavesOut?: readonly string[];
  /** Its newest revision is 2024-11-05. */
  readonly isOldest?: true;
  /** A process for each step: only the first step of each method is taken. */
  readonly isSlow?: true;
  /** In the short form every server is tried with it, in this era. */
  readonly referenceEra?: Era;
  /** Only in the long form. */
  readonly isLong?: true;
}

const ts = (file: string, ...args: string[]): string[] => [
  process.execPath,
  '--import',
  'tsx',
  `${CLIENTS}${file}`,
  ...args,
];
const python = (venv: string, file: string): string[] => [bin(venv, 'python'), `${CLIENTS}${file}`];

const BOTH = ['stdio', 'http'] as const;
const V1 = 'python-v1';
const V2 = 'python-v2';

/** Some of these need a newer Node than the gateway does: the npm set brings one along. */
const node22 = npmFile(`node-${process.platform}-${process.arch}/bin/node`);

const LISTS = ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'] as const;
const BASICS = [...LISTS, 'tools/call', 'prompts/get', 'resources/read'] as const;

export const CLIENT_ROWS: readonly Client[] = [
  {
    name: 'TypeScript SDK',
    version: '1.32.2',
    needs: 'project',
    eras: ['legacy'],
    transports: BOTH,
    driver: ts('ts-v1.ts'),
    methods: 'all',
    referenceEra: 'legacy',
  },
  {
    name: 'TypeScript SDK',
    version: '2.4.0',
    needs: 'project',
    eras: ['legacy', 'modern'],
    transports: BOTH,
    driver: ts('ts-v2.ts'),
    methods: 'all',
    referenceEra: 'modern',
  },
  {
    name: 'mcp (Python)',
    version: '1.6.0',
    needs: { venv: 'mcp-1.6.0' },
    eras: ['legacy'],
    transports: ['stdio'],
    driver: python('mcp-1.6.0', 'python_mcp1.py'),
    methods: 'all',
    leavesOut: ['ask', 'trigger-elicitation-request'],
    isOldest: true,
  },
  {
    name: 'mcp (Python)',
    version: '1.30.0',
    needs: { venv: V1 },
    eras: ['legacy'],
    transports: BOTH,
    driver: python(V1, 'python_mcp1.py'),
    methods: 'all',
  },
  {
    name: 'mcp (Python)',
    version: '2.3.0',
    needs: { venv: V2 },
    eras: ['legacy', 'modern'],
    transports: BOTH,
    driver: python(V2, 'python_mcp2.py'),
    methods: 'all',
  },
  {
    name: 'FastMCP',
    version: '4.1.2',
    needs: { venv: V2 },
    eras: ['legacy', 'modern'],
    transports: BOTH,
    driver: python(V2, 'python_fastmcp.py'),
    methods: BASICS,
  },
  {
    name: 'go-sdk',
    version: '1.8.0',
    needs: 'go',
    eras: ['legacy', 'modern'],
    transports: BOTH,
    driver: [built('go', 'client-gosdk')],
    methods: [...BASICS, 'completion/complete'],
  },
  {
    name: 'mcp-go',
    version: '1.2.1',
    needs: 'go',
    eras: ['legacy', 'modern'],
    transports: BOTH,
    driver: [built('go', 'client-mcpgo')],
    methods: BASICS,
  },
  {
    name: 'MCP Inspector',
    version: '2.12.0',
    needs: 'npm',
    eras: ['legacy', 'modern'],
    transports: BOTH,
    driver: ts('inspector.ts', node22, npmFile('@modelcontextprotocol/inspector/clients/cli/build/index.js')),
    methods: BASICS,
    isSilent: true,
    isSlow: true,
  },
  {
    name: 'mcp-remote',
    version: '0.15.1',
    needs: 'project',
    eras: ['legacy'],
    transports: ['http'],
    driver: ts('mcp-remote.ts'),
    methods: 'all',
  },
  {
    name: 'AI SDK',
    version: '2.0.96',
    needs: 'npm',
    eras: ['auto'],
    transports: BOTH,
    driver: [node22, `${CLIENTS}ai-sdk.js`, join(CACHE, 'npm', 'node_modules')],
    methods: BASICS,
  },
  {
    name: 'langchain-mcp-adapters',
    version: '0.3.2',
    needs: { venv: V1 },
    eras: ['legacy'],
    transports: BOTH,
    driver: python(V1, 'python_langchain.py'),
    methods: ['tools/list', 'tools/call', 'prompts/get', 'resources/read'],
    isSilent: true,
  },
  {
    name: 'openai-agents',
    version: '0.24.0',
    needs: { venv: V2 },
    eras: ['auto'],
    transports: BOTH,
    driver: python(V2, 'python_openai_agents.py'),
    methods: BASICS,
    isSilent: true,
  },
  {
    name: 'pydantic-ai',
    version: '2.66.0',
    needs: { venv: V2 },
    eras: ['auto'],
    transports: BOTH,
    driver: python(V2, 'python_pydantic_ai.py'),
    methods: BASICS,
    isSilent: true,
  },
  {
    name: 'claude mcp list',
    version: '2.1.325',
    needs: 'npm',
    eras: ['legacy'],
    transports: BOTH,
    driver: ts('claude-code.ts', npmFile(`@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`)),
    methods: [],
  },
];
