/**
 * mcp-remote, which connects a client that has only stdio to an HTTP server. The client is the official SDK's, version
 * 1.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drive } from './driving.ts';
import { connectV1 } from './ts-v1-client.ts';

const proxy = fileURLToPath(import.meta.resolve('mcp-remote/dist/proxy.js'));

await drive(async (job, hear) => {
  if (!('url' in job.target)) throw new Error('mcp-remote goes to addresses');
  const cwd = await mkdtemp(join(tmpdir(), 'bascule-remote-'));
  const args = [proxy, job.target.url, '--transport', 'http-only', '--allow-http'];
  const env = { PATH: process.env.PATH ?? '', HOME: cwd, MCP_REMOTE_CONFIG_DIR: cwd };
  const client = await connectV1({ ...job, target: { command: process.execPath, args, cwd, env } }, hear);
  return {
    ...client,
    close: async () => {
      await client.close();
      await rm(cwd, { recursive: true, force: true });
    },
  };
});
