/** The recipes of docs/oauth-to-backends.md do what they say. Addresses that are made up there are real ones here. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { verifies } from '../../requirements/verifies.ts';
import { bearer, keyRing, tokenIssuer } from '../harness/credentials.ts';
import { eras } from '../harness/eras.ts';
import { type ConfigValue, startGateway } from '../harness/gateway.ts';
import { caller } from './caller.ts';
import { GuardedBackend, oauth } from './guarded-backend.ts';
import { done } from './office.ts';
import { Person } from './person.ts';

const page = readFileSync(new URL('../../../docs/oauth-to-backends.md', import.meta.url), 'utf8');

function recipe(title: string): string {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${title}\n`));
  return /^```yaml\n([\s\S]*?)^```/m.exec(section ?? '')?.[1] ?? '';
}

async function place(title: string, era: (typeof eras)[number]) {
  const backend = await GuardedBackend.open({ era });
  const issuer = await tokenIssuer();
  const ring = keyRing();
  const keys = { ada: ring.make('ada') };
  const folder = mkdtempSync(join(tmpdir(), 'bascule-docs-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  vi.stubEnv('FILES_CLIENT_SECRET', 'the-secret');
  onTestFinished(() => void vi.unstubAllEnvs());
  const text = recipe(title)
    .replaceAll('https://files.example/mcp', backend.url)
    .replaceAll('https://login.files.example', backend.issuer.issuer)
    .replaceAll('https://login.example', issuer.url)
    .replaceAll('keys.json', ring.path)
    .replaceAll('dir: state', `dir: ${folder}`);
  const config = parse(text) as ConfigValue & { readonly backends: { readonly files: { readonly auth: object } } };
  Object.assign(config.backends.files.auth, { authorizationServers: oauth.authorizationServers });
  const gateway = await startGateway('store' in config ? config : { ...config, store: { dir: folder } });
  return { backend, issuer, keys, gateway, url: gateway.url('files') };
}

describe.each(eras)('the recipe, with a %s client and backend', verifies('gateway:credentials:recipes'), (era) => {
  it('for every user with their own account', async () => {
    const { backend, keys, gateway, url } = await place('Everybody with their own account', era);
    const ada = new Person('ada', gateway.origin, keys.ada);
    const client = await caller({
      era,
      url,
      credentials: bearer(keys.ada),
      shown: async (link) => {
        expect((await ada.agree(link, backend)).status).toBe(200);
        return 'accept';
      },
    });
    expect(await client.call('work')).toMatchObject(done);
    expect(backend.ownerOf(backend.inner.of('tools/call')[0] ?? { headers: {} })).toBe('ada');
  });

  it('for an account of the gateway’s own', async () => {
    const { backend, url } = await place('An account of the gateway’s own', era);
    expect(await (await caller({ era, url })).call('work')).toMatchObject(done);
    expect(backend.issuer.tokenRequests('client_credentials')).toHaveLength(1);
  });

  it('for the caller’s own token, exchanged', async () => {
    const { backend, issuer, url } = await place('The caller’s own token, exchanged', era);
    const client = await caller({ era, url, credentials: bearer(await issuer.token(url)) });
    expect(await client.call('work')).toMatchObject(done);
    const [asked] = backend.issuer.tokenRequests('urn:ietf:params:oauth:grant-type:token-exchange');
    expect(asked?.form.get('audience')).toBe('files');
  });
});
