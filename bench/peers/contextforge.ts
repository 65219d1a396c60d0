/** IBM's ContextForge, in Python, with its checks of who calls and how often turned off. HTTP backends only. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { installOnce, peerPath, pythonPackage } from './install.ts';
import { type Front, type Given, overHttp, type Peer } from './peer.ts';
import { versions } from './versions.ts';

const name = 'ContextForge';
/** It takes tens of milliseconds a call. */
const SHARE = 0.02;
/** It loads its code and makes its database first. */
const READY_MS = 90_000;
const POLL_MS = 250;

/** It refuses to start with secrets that can be guessed. */
const secret = () => `Aa1!${randomBytes(36).toString('base64')}`;

async function register(base: URL, backend: URL): Promise<void> {
  const deadline = Date.now() + READY_MS;
  const body = JSON.stringify({ name: 'bench', url: backend.href, transport: 'STREAMABLEHTTP' });
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  for (;;) {
    try {
      const answer = await fetch(new URL('/v1/gateways', base), request);
      if (answer.ok) return;
      throw new Error(`it did not take the backend: ${answer.status} ${await answer.text()}`);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(POLL_MS);
    }
  }
}

function front({ port, directory }: Given, backend: URL): Front {
  const env = {
    DATABASE_URL: `sqlite:///${join(directory, 'contextforge.db')}`,
    ENVIRONMENT: 'development',
    LOG_LEVEL: 'ERROR',
    JWT_SECRET_KEY: secret(),
    AUTH_ENCRYPTION_SECRET: secret(),
    BASIC_AUTH_PASSWORD: secret(),
    PLATFORM_ADMIN_PASSWORD: secret(),
    DEFAULT_USER_PASSWORD: secret(),
    AUTH_REQUIRED: 'false',
    MCP_REQUIRE_AUTH: 'false',
    ALLOW_UNAUTHENTICATED_ADMIN: 'true',
    RATE_LIMITING_ENABLED: 'false',
    SSRF_ALLOW_LOCALHOST: 'true',
  };
  return {
    name,
    command: peerPath(name, 'bin/mcpgateway'),
    args: ['--host', '127.0.0.1', '--port', String(port), '--no-access-log'],
    env,
    path: '/mcp',
    toolName: (tool) => `bench-${tool}`,
    withoutSessions: true,
    prepare: (base) => register(base, backend),
  };
}

export const contextForge: Peer = {
  name,
  install: async () => {
    await installOnce(name, pythonPackage('mcp-contextforge-gateway', versions.contextForge));
    return versions.contextForge;
  },
  contestants: [overHttp(name, 'peers-http-legacy', front, SHARE)],
};
