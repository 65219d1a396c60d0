/**
 * What a backend, or the authorization server that it names, can make the gateway ask on its own machine: nothing
 * unnamed.
 */
import { describe, expect, it, onTestFinished } from 'vitest';
import { backendLine } from '../../../src/cli/banner.ts';
import { Failure } from '../../../src/errors/failure.ts';
import { Site } from '../../oauth/client/support.ts';
import { verifies } from '../../requirements/verifies.ts';
import { type Json, send, until } from '../harness/client.ts';
import { initialize, modern } from '../harness/eras.ts';
import { startGateway } from '../harness/gateway.ts';
import { GuardedBackend } from './guarded-backend.ts';
import { done, Office, type Row, rows } from './office.ts';

/** Somebody on this machine who must not hear of it. */
async function bystander(): Promise<Site> {
  const site = await Site.open();
  onTestFinished(() => site.close());
  return site;
}

/** At an endpoint of its own, a legacy session does not even begin. */
async function refusal(office: Office, row: Row): Promise<Json> {
  const ada = office.employee('ada');
  if (row.client === 'legacy' && row.door === 'single') {
    const headers = { accept: 'application/json, text/event-stream', ...ada.credentials };
    return (await send(office.url(row.door), { body: initialize(), headers })).json().error;
  }
  const client = await office.client(row, ada, 'never');
  return (await client.call(office.tool(row.door))).error;
}

interface Attempt {
  readonly name: string;
  readonly message: RegExp;
  make(office: Office, port: string): void;
}

const unnamed =
  /^https?:\/\/\S+ (does not use https|is on this machine or in the internal network), so the gateway does not connect to it$/;
const byMetadata = (member: string): Attempt => ({
  name: `an authorization server whose ${member} is another port`,
  message: unnamed,
  make: ({ backend: { issuer } }, port) => {
    issuer.metadata = { [member]: `http://127.0.0.1:${port}/x` };
  },
});
const byName = (name: string, address: (port: string) => string): Attempt => ({
  name: `a backend that names ${name}`,
  message: unnamed,
  make: ({ backend }, port) => {
    backend.namedIssuer = address(port);
  },
});

const attempts: readonly Attempt[] = [
  byName('another port', (port) => `http://127.0.0.1:${port}`),
  byName('another port with TLS', (port) => `https://127.0.0.1:${port}`),
  byName('another port by another name', (port) => `http://localhost:${port}`),
  byName('an address inside the network', () => 'https://169.254.169.254'),
  byMetadata('token_endpoint'),
  byMetadata('registration_endpoint'),
  byMetadata('authorization_endpoint'),
  {
    name: 'a challenge whose metadata is at another port',
    message: unnamed,
    make: ({ backend }, port) => {
      backend.namedMetadata = `http://127.0.0.1:${port}/metadata`;
    },
  },
  {
    name: 'an authorization server whose metadata leads to another port',
    message: /redirect/,
    make: ({ backend: { issuer } }, port) => {
      const location = `http://127.0.0.1:${port}/metadata`;
      issuer.site.pages.set(issuer.metadataPath, () => ({ status: 307, headers: { location } }));
    },
  },
];

describe.each(rows)('a $client client of a $backend backend, $door endpoint', (row) => {
  it.each(attempts)(
    '$name is rejected by name, and no request is sent there',
    verifies('gateway:credentials:inside'),
    async ({ make, message }) => {
      const office = await Office.open({
        backend: row.backend,
        auth: (issuer) => ({ authorizationServers: [issuer] }),
      });
      const site = await bystander();
      make(office, new URL(site.origin).port);
      const error = await refusal(office, row);
      expect(error.data.reason).toBe('authorization_untrusted');
      expect(error.message).toMatch(message);
      expect(site.log).toEqual([]);
      const cures = office.gateway.log.flatMap(({ facts }) => facts.cure ?? []);
      expect(cures).toEqual(message === unnamed ? [expect.stringContaining('`auth.authorizationServers`')] : []);
    },
  );

  it(
    'an authorization server at another port that the config names is used',
    verifies('gateway:credentials:inside'),
    async () => {
      const office = await Office.open({
        backend: row.backend,
        auth: (issuer) => ({ authorizationServers: [issuer] }),
      });
      const client = await office.client(row, office.employee('ada'));
      expect(await client.call(office.tool(row.door))).toMatchObject(done);
    },
  );
});

describe('a backend with one account for all that names another port', () => {
  it(
    'is rejected, with the remedy in the log, at /readyz and in the start-up line',
    verifies('gateway:run:cause-named'),
    async () => {
      const backend = await GuardedBackend.open({ era: 'modern' });
      const { origin } = await bystander();
      backend.namedIssuer = origin;
      const auth = { type: 'oauth', shared: true, authorizationServers: [backend.issuer.issuer] };
      const gateway = await startGateway({ backends: { files: { url: backend.url, auth } } });
      const { error } = (await send(gateway.url('files'), modern({ method: 'tools/list' }))).json();
      expect(error).toMatchObject({
        message: expect.stringMatching(unnamed),
        data: { reason: 'authorization_untrusted' },
      });
      const cure = expect.stringContaining('`auth.authorizationServers`');
      const refused = () => gateway.log.find(({ text }) => text.startsWith('backend not usable'));
      await until(() => refused() !== undefined, 'the log names it');
      expect(refused()?.facts).toEqual({ backend: 'files', reason: 'authorization_untrusted', cure });
      const { backends } = (await send(`${gateway.origin}/readyz`, { method: 'GET' })).json();
      expect(backends.files).toMatchObject({ state: 'refused', cure });
      const failure = new Failure('authorization_untrusted', { cure: backends.files.cure });
      expect(backendLine('files', { state: 'refused', failure })).toEqual(cure);
    },
  );
});
