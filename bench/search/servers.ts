/**
 * Installs the servers of servers.json outside the repository, starts each one, and writes down what it lists:
 *
 *   npx tsx bench/search/servers.ts [directory]
 *
 * Nothing is called, and the credentials are dummies. A server that does not start is named.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { listedFile, type Server, serverDirectory, servers } from './corpus.ts';

const INSTALL_MS = 900_000;
const START_MS = 60_000;
const OUTPUT_BYTES = 64 * 1024 * 1024;

async function install(directory: string): Promise<void> {
  const missing = servers.filter((server) => !existsSync(join(directory, 'node_modules', server.package)));
  if (missing.length === 0) return;
  mkdirSync(directory, { recursive: true });
  if (!existsSync(join(directory, 'package.json')))
    writeFileSync(join(directory, 'package.json'), '{ "private": true }\n');
  const packages = servers.map((server) => `${server.package}@${server.version}`);
  const npm = ['install', '--no-audit', '--no-fund', '--ignore-scripts', ...packages];
  await promisify(execFile)('npm', npm, { cwd: directory, timeout: INSTALL_MS, maxBuffer: OUTPUT_BYTES });
}

async function toolsOf(directory: string, { args, env }: Server): Promise<readonly object[]> {
  const path = process.env.PATH ?? '';
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...args],
    cwd: directory,
    env: { HOME: directory, PATH: path, ...env },
    stderr: 'ignore',
  });
  const client = new Client({ name: 'search-bench', version: '1.0.0' });
  try {
    await client.connect(transport, { timeout: START_MS });
    const tools: object[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listTools(cursor === undefined ? {} : { cursor }, { timeout: START_MS });
      tools.push(...page.tools);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return tools;
  } finally {
    await client.close();
  }
}

const directory = process.argv[2] ?? serverDirectory;
await install(directory);
const listed: Record<string, readonly object[]> = {};
for (const server of servers) {
  try {
    listed[server.name] = await toolsOf(directory, server);
  } catch (error) {
    process.stderr.write(`${server.name} does not list its tools: ${error instanceof Error ? error.message : error}\n`);
  }
}
writeFileSync(join(directory, listedFile), `${JSON.stringify(listed, null, 1)}\n`);
const count = Object.values(listed).reduce((sum, { length }) => sum + length, 0);
process.stdout.write(`${count} tools of ${Object.keys(listed).length} servers: ${join(directory, listedFile)}\n`);
