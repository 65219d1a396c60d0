/** Who we are to an authorization server. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clientDocument } from '../../../src/oauth/client/client-document.ts';
import type { BackendAuth, CredentialSettings } from '../../../src/oauth/client/settings.ts';
import { verifies } from '../../requirements/verifies.ts';
import { alice, failureOf, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

const https: Partial<CredentialSettings> = { publicUrl: 'https://gate.example' };

interface Choice {
  readonly name: string;
  readonly auth: Partial<BackendAuth>;
  readonly metadata: Record<string, unknown>;
  readonly settings?: Partial<CredentialSettings>;
  readonly clientId: RegExp;
}

describe('the order in which we become a client', () => {
  const takesDocuments = { client_id_metadata_document_supported: true };
  const ours = { clientId: 'ours' };
  const choices: readonly Choice[] = [
    {
      name: 'the client that was registered beforehand',
      auth: ours,
      metadata: takesDocuments,
      settings: https,
      clientId: /^ours$/,
    },
    {
      name: 'our client-ID document',
      auth: {},
      metadata: takesDocuments,
      settings: https,
      clientId: /^https:\/\/gate\.example\/\.well-known\/oauth-client$/,
    },
    {
      name: 'a client-ID document that is elsewhere',
      auth: { clientMetadataUrl: 'https://pages.example/client.json' },
      metadata: takesDocuments,
      clientId: /^https:\/\/pages\.example\/client\.json$/,
    },
    {
      name: 'a registration, if the metadata document is not reachable',
      auth: {},
      metadata: takesDocuments,
      clientId: /^client-/,
    },
    {
      name: 'a registration, if metadata documents are not supported',
      auth: {},
      metadata: {},
      settings: https,
      clientId: /^client-/,
    },
  ];
  it.each(choices)(
    '$name',
    verifies('client-auth:cimd', 'client-auth:dcr', 'client-auth:pre-registration'),
    async ({ auth, metadata, settings = {}, clientId }) => {
      world.issuer.metadata = metadata;
      await world.connect(world.start(auth, settings));
      expect(world.issuer.site.asked('/authorize')[0]?.query.get('client_id')).toMatch(clientId);
      expect(world.issuer.site.asked('/register')).toHaveLength(clientId.source === '^client-' ? 1 : 0);
    },
  );

  it('none of them: a named error with the remedy', async () => {
    world.issuer.metadata = { registration_endpoint: undefined };
    const failure = await world.firstRefusal(world.start());
    expect(failure.reason).toBe('client_unregistered');
    expect(failure.message).toContain('auth.clientId');
  });
});

describe('a registration', () => {
  const types = [
    { publicUrl: 'http://127.0.0.1:8000', type: 'native' },
    { publicUrl: 'http://localhost:8000', type: 'native' },
    { publicUrl: 'https://gate.example', type: 'web' },
  ];
  it.each(types)('from $publicUrl is of a $type application', async ({ publicUrl, type }) => {
    await world.firstRefusal(world.start({}, { publicUrl }));
    expect(JSON.parse(world.issuer.site.asked('/register')[0]?.text ?? '')).toMatchObject({
      application_type: type,
      redirect_uris: [`${publicUrl}/oauth/callback`],
      grant_types: ['authorization_code', 'refresh_token'],
    });
  });

  it('serves every principal, also after a restart', async () => {
    await world.connect(world.start());
    await world.connect(world.start(), { ...alice, key: 'somebody else' });
    expect(world.issuer.site.asked('/register')).toHaveLength(1);
  });

  it('is renewed after a month, and tokens of the old one are still refreshed with the old one', async () => {
    const credentials = world.start();
    await world.connect(credentials);
    world.time.move(31 * 24 * 3_600_000);
    await world.connect(credentials, { ...alice, key: 'somebody else' });
    expect(world.issuer.site.asked('/register')).toHaveLength(2);
    expect((await credentials.credentialProviderFor('files', alice)?.headers())?.authorization).toMatch(
      /^Bearer access-/,
    );
    const [code] = world.issuer.tokenRequests('authorization_code');
    const [refresh] = world.issuer.tokenRequests('refresh_token');
    expect(refresh?.headers.authorization).toBe(code?.headers.authorization);
  });

  it('that expired is renewed', async () => {
    world.issuer.registration = { client_secret_expires_at: Math.floor(Date.now() / 1000) + 3600 };
    await world.connect(world.start());
    world.time.move(3_700_000);
    await world.connect(world.start(), { ...alice, key: 'somebody else' });
    expect(world.issuer.site.asked('/register')).toHaveLength(2);
  });

  it(
    'that is rejected is reported with the error of the server',
    verifies('client-auth:dcr:registration-error-surfaces'),
    async () => {
      const body = { error: 'invalid_redirect_uri', error_description: 'Web clients need https' };
      world.issuer.registrationAnswer = () => ({ status: 400, body });
      const failure = await world.firstRefusal(world.start());
      expect(failure.reason).toBe('client_unregistered');
      expect(failure.data).toEqual({ error: 'invalid_redirect_uri', description: 'Web clients need https' });
    },
  );

  const answers = [
    { name: 'status 200', said: { status: 200, body: { client_id: 'c' } }, good: true },
    {
      name: 'a secret without an end',
      said: { status: 201, body: { client_id: 'c', client_secret: 's' } },
      good: true,
    },
    { name: 'no client', said: { status: 201, body: {} }, good: false },
    { name: 'a client that is no text', said: { status: 201, body: { client_id: 7 } }, good: false },
    { name: 'no JSON', said: { status: 201, body: 'welcome' }, good: false },
    { name: 'a redirect', said: { status: 302, headers: { location: 'https://evil.example' } }, good: false },
    {
      name: 'a method that we do not have',
      said: { status: 201, body: { client_id: 'c', token_endpoint_auth_method: 'tls_client_auth' } },
      good: false,
    },
  ];
  it.each(answers)('answered with $name', verifies('client-auth:dcr:substituted-metadata'), async ({ said, good }) => {
    world.issuer.registrationAnswer = () => said;
    const failure = await world.firstRefusal(world.start());
    expect(failure.reason).toBe(good ? 'consent_needed' : 'client_unregistered');
  });
});

describe('how the client proves itself', verifies('client-auth:token-endpoint-auth-method'), () => {
  const methods = [
    { name: 'basic', offered: ['client_secret_basic'], registered: undefined, basic: true, post: false },
    { name: 'post', offered: ['client_secret_post'], registered: undefined, basic: false, post: true },
    { name: 'not at all', offered: ['none'], registered: undefined, basic: false, post: false },
    {
      name: 'as the server decided',
      offered: ['client_secret_basic'],
      registered: 'client_secret_post',
      basic: false,
      post: true,
    },
  ];
  it.each(methods)('$name', async ({ offered, registered, basic, post }) => {
    world.issuer.metadata = { token_endpoint_auth_methods_supported: offered };
    if (registered !== undefined) world.issuer.registration = { token_endpoint_auth_method: registered };
    await world.connect(world.start());
    const [asked] = world.issuer.tokenRequests('authorization_code');
    expect(asked?.headers.authorization?.startsWith('Basic ') ?? false).toBe(basic);
    expect(asked?.form.has('client_secret')).toBe(post);
  });
});

describe('a client that the server has forgotten', verifies('client-auth:invalid-client-clears-all'), () => {
  const unknown = { status: 401, headers: { 'www-authenticate': 'Basic' }, body: { error: 'invalid_client' } };

  it('registers anew after its code was refused', async () => {
    const credentials = world.start();
    world.issuer.tokenAnswer = () => unknown;
    const failure = await failureOf(world.connect(credentials));
    expect(failure.reason).toBe('authorization_refused');
    expect(failure.data).toEqual({ error: 'invalid_client' });
    world.issuer.tokenAnswer = undefined;
    await world.connect(credentials);
    expect(world.issuer.site.asked('/register')).toHaveLength(2);
  });

  it('registers again after its refresh token was rejected, and requests consent again', async () => {
    const credentials = world.start();
    const old = await world.connect(credentials);
    world.issuer.tokenAnswer = () => unknown;
    world.time.move(3_600_000);
    const presenter = credentials.credentialProviderFor('files', alice);
    expect(await presenter?.headers()).toEqual({});
    expect((await failureOf(presenter?.refused(world.refusal({})))).reason).toBe('consent_needed');
    expect(world.issuer.site.asked('/register')).toHaveLength(2);
    expect(old).not.toEqual({});
  });
});

describe('our client-ID document', () => {
  it('is at the address that is its id, and only where others can fetch it', verifies('client-auth:cimd'), () => {
    expect(clientDocument('https://gate.example')).toEqual({
      client_id: 'https://gate.example/.well-known/oauth-client',
      client_name: 'Bascule',
      client_uri: 'https://gate.example',
      redirect_uris: ['https://gate.example/oauth/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'web',
    });
    expect(clientDocument('http://127.0.0.1:8000')).toBeUndefined();
  });
});
