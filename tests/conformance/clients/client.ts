/**
 * The client that the kit starts, and judges: a gateway before the kit's server, with an official client before the
 * gateway and somebody who agrees to everything at its browser.
 *
 *   tsx tests/conformance/clients/client.ts <folder> <address of the kit's server>
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Browser } from '../../interaction/authserver/browser.ts';
import { startGateway } from '../processes.ts';
import { type Enterprise, enterprise } from './enterprise.ts';
import { type Context, sceneOf } from './scenes.ts';

const [folder = '', address = ''] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario = '', MCP_CONFORMANCE_PROTOCOL_VERSION: spec } = process.env;
const scene = sceneOf(scenario);

/** More than the gateway lets anybody be asked in a row: what ends it must be the gateway. */
const MOST_PAGES = 8;

/** Goes to the page and through all that follows, to the authorization server and back. */
async function visit(link: string): Promise<void> {
  const browser = new Browser(new URL(link).origin);
  const page = await browser.go(link);
  const left = await browser.submit(page, {});
  if (left.status !== 0) throw new Error(`${left.url.pathname}: ${left.status} ${left.text}`);
  const { headers } = await fetch(left.url, { redirect: 'manual' });
  const back = await browser.go(headers.get('location') ?? '');
  console.log(`visited ${back.url.pathname}: ${back.status} ${/<title>(.*?)<\/title>/.exec(back.text)?.[1] ?? ''}`);
}

/** A client that cannot be asked in the middle of something is told by an error where the page is. */
function linkIn(error: unknown): string | undefined {
  const { data } = error as { data?: { url?: string; elicitations?: readonly { url?: string }[] } };
  // The official client leaves of the data what the older revision has of it.
  return data?.url ?? data?.elicitations?.[0]?.url;
}

async function drive(url: URL, context: Context, token: string | undefined): Promise<void> {
  const capabilities = { elicitation: { form: {}, url: {} }, ...scene.capabilities };
  const mode = spec === '2025-11-25' ? 'legacy' : { pin: '2026-07-28' };
  const client = new Client({ name: 'driver', version: '1.0.0' }, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    if (params.mode === 'url') {
      await visit(params.url);
      return { action: 'accept' };
    }
    return { action: 'accept', content: scene.capabilities === undefined ? { confirmed: true } : {} };
  });
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  try {
    for (let pages = 0; ; pages += 1) {
      try {
        return await scene.act(client, context);
      } catch (error) {
        const link = linkIn(error);
        if (link === undefined || pages >= MOST_PAGES) throw error;
        await visit(link);
      }
    }
  } finally {
    await client.close();
  }
}

async function main(): Promise<void> {
  await mkdir(folder, { recursive: true });
  const said = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context;
  const house: Enterprise | undefined = 'idp_id_token' in said ? await enterprise(address, said) : undefined;
  const context = { ...said, ...house?.context };
  // The kit's authorization servers are on this machine, at ports of its own choice.
  const authorizationServers = ['http://localhost:*', 'http://127.0.0.1:*'];
  const auth = scene.auth && { ...scene.auth(context), authorizationServers };
  const config = {
    backends: { kit: { url: address, ...(auth && { auth }), ...(scene.profile && { profile: scene.profile }) } },
    store: { dir: join(folder, 'state') },
    log: { level: 'debug' },
    ...(house && { identity: house.identity }),
  };
  const file = join(folder, 'bascule.yaml');
  await writeFile(file, JSON.stringify(config));
  const command = [process.execPath, 'bin/bascule.js', 'serve'];
  const gateway = await startGateway(command, file, join(folder, 'gateway.log'), new URL(address));
  try {
    await drive(new URL('/servers/kit/mcp', gateway.url), context, house?.token);
  } finally {
    await gateway.stop();
    await house?.close();
  }
}

await main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
