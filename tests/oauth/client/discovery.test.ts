/** Which authorization server a backend trusts, and whether we do. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { alice, failureOf, World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await World.open();
});
afterEach(() => world.close());

const path = '/.well-known/oauth-protected-resource/mcp';
const root = '/.well-known/oauth-protected-resource';

describe('the metadata of a backend is looked up', verifies('client-auth:prm-discovery:fallback-order'), () => {
  const places = [
    { name: 'where the challenge says, and nowhere else', at: '/elsewhere', named: true, asked: ['/elsewhere'] },
    { name: 'under the path of the endpoint', at: path, named: false, asked: [path] },
    { name: 'at the root after that', at: root, named: false, asked: [path, root] },
  ];
  it.each(places)('$name', async ({ at, named, asked }) => {
    world.backend.metadataPath = at;
    world.backend.challengeNamesMetadata = named;
    await world.connect(world.start());
    expect(world.backend.site.paths).toEqual(asked);
  });

  it('a challenge that names a place without metadata is not worked around', async () => {
    const challenge = `Bearer resource_metadata="${world.backend.site.origin}/nowhere"`;
    const presenter = world.start().credentialProviderFor('files', alice);
    const refusal = { status: 401, wwwAuthenticate: [challenge], presented: {} };
    expect((await failureOf(presenter?.refused(refusal))).reason).toBe('authorization_undiscovered');
    expect(world.backend.site.paths).toEqual(['/nowhere']);
  });
});

describe('a backend without metadata', verifies('client-auth:prm-discovery:no-prm-fallback'), () => {
  it('is its own authorization server, by the metadata at its root', async () => {
    world.backend.metadataPath = undefined;
    const { site } = world.backend;
    const { origin } = world.issuer.site;
    const document = { ...world.issuer.document(), issuer: site.origin };
    site.pages.set('/.well-known/oauth-authorization-server', () => ({ body: document }));
    await world.connect(world.start());
    expect(world.issuer.site.origin).toBe(origin);
    expect(world.issuer.site.paths).toEqual(['/register', '/authorize', '/token']);
    expect(site.paths).toEqual([path, root, '/.well-known/oauth-authorization-server']);
  });

  it('uses the endpoints of 2025-03-26 if there is no document at all', async () => {
    world.backend.metadataPath = undefined;
    for (const page of ['/register', '/authorize', '/token']) {
      const answer = world.issuer.site.pages.get(page);
      if (answer !== undefined) world.backend.site.pages.set(page, answer);
    }
    expect((await world.connect(world.start())).authorization).toMatch(/^Bearer access-/);
    expect(world.backend.site.paths.slice(-3)).toEqual(['/register', '/authorize', '/token']);
    expect(world.backend.site.asked('/authorize')[0]?.query.get('code_challenge_method')).toBe('S256');
  });
});

describe('the metadata of an authorization server is looked up', () => {
  const tenant = [
    '/.well-known/oauth-authorization-server/tenant',
    '/.well-known/openid-configuration/tenant',
    '/tenant/.well-known/openid-configuration',
  ];
  const bare = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];
  const rows = [
    ...tenant.map((at, index) => ({ issuer: '/tenant', at, asked: tenant.slice(0, index + 1) })),
    ...bare.map((at, index) => ({ issuer: '', at, asked: bare.slice(0, index + 1) })),
  ];
  it.each(rows)(
    '$at is number $asked.length',
    verifies('client-auth:as-metadata-discovery:priority-order'),
    async ({ issuer, at, asked }) => {
      const { site } = world.issuer;
      world.issuer.metadataPath = 'nowhere';
      world.issuer.metadata = { issuer: `${site.origin}${issuer}` };
      site.pages.set(at, () => ({ body: world.issuer.document() }));
      world.backend.issuer = `${site.origin}${issuer}`;
      expect((await world.firstRefusal(world.start())).reason).toBe('consent_needed');
      expect(site.paths.filter((asking) => asking.includes('.well-known'))).toEqual(asked);
    },
  );

  it('a slash that a framework wrote after the host is forgiven, and the issuer is the document’s', async () => {
    world.backend.issuer = `${world.issuer.issuer}/`;
    const credentials = world.start();
    const failure = await world.firstRefusal(credentials);
    const consent = await credentials.consents.find(String(failure.data?.elicitationId));
    expect(consent?.issuer).toBe(world.issuer.issuer);
  });
});

interface Bad {
  readonly name: string;
  readonly reason: string;
  readonly message: RegExp;
  /** What the operator is told. */
  readonly cure?: RegExp;
  readonly break: (world: World) => void;
}

const badServers: readonly Bad[] = [
  {
    name: 'names another issuer',
    reason: 'authorization_untrusted',
    message: /another issuer/,
    break: ({ issuer }) => {
      issuer.metadata = { issuer: 'https://attacker.example' };
    },
  },
  {
    name: 'names its issuer with another path',
    reason: 'authorization_untrusted',
    message: /another issuer/,
    break: ({ issuer }) => {
      issuer.metadata = { issuer: `${issuer.issuer}/tenant` };
    },
  },
  {
    name: 'says nothing of PKCE',
    reason: 'authorization_untrusted',
    message: /PKCE/,
    break: ({ issuer }) => {
      issuer.metadata = { code_challenge_methods_supported: undefined };
    },
  },
  {
    name: 'has PKCE without S256',
    reason: 'authorization_untrusted',
    message: /S256/,
    break: ({ issuer }) => {
      issuer.metadata = { code_challenge_methods_supported: ['plain'] };
    },
  },
  {
    name: 'has an authorization endpoint that is none',
    reason: 'authorization_untrusted',
    message: /does not use https, so the gateway does not connect to it$/,
    cure: /use https at the authorization server/,
    break: ({ issuer }) => {
      issuer.metadata = { authorization_endpoint: 'javascript:alert(1)' };
    },
  },
  {
    name: 'has a token endpoint over plain http',
    reason: 'authorization_untrusted',
    message: /does not use https, so the gateway does not connect to it$/,
    cure: /use https at the authorization server/,
    break: ({ issuer }) => {
      issuer.metadata = { token_endpoint: 'http://login.example/token' };
    },
  },
  {
    name: 'names no token endpoint',
    reason: 'authorization_untrusted',
    message: /token endpoint/,
    break: ({ issuer }) => {
      issuer.metadata = { token_endpoint: undefined };
    },
  },
  {
    name: 'is malformed',
    reason: 'authorization_untrusted',
    message: /malformed/,
    break: ({ issuer }) => {
      issuer.metadata = { scopes_supported: 'all of them' };
    },
  },
  {
    name: 'is not JSON',
    reason: 'authorization_untrusted',
    message: /not JSON/,
    break: ({ issuer }) => {
      issuer.site.pages.set(issuer.metadataPath, () => ({ body: '<html>' }));
    },
  },
  {
    name: 'is a redirect',
    reason: 'authorization_untrusted',
    message: /redirect/,
    break: ({ issuer }) => {
      issuer.site.pages.set(issuer.metadataPath, () => ({ status: 302, headers: { location: '/other' } }));
    },
  },
  {
    name: 'is too large',
    reason: 'authorization_untrusted',
    message: /too large/,
    break: ({ issuer }) => {
      issuer.site.pages.set(issuer.metadataPath, () => ({ body: { pad: 'x'.repeat(300 * 1024) } }));
    },
  },
  {
    name: 'cannot be had at the moment',
    reason: 'authorization_unavailable',
    message: /reached/,
    break: ({ issuer }) => {
      issuer.site.pages.set(issuer.metadataPath, () => ({ status: 503 }));
    },
  },
];

const badResources: readonly Bad[] = [
  ...['https://evil.example/mcp', 'http://127.0.0.1:1/mcp', 'not an address'].map((resource) => ({
    name: `speaks of ${resource}`,
    reason: 'authorization_undiscovered',
    message: /another resource/,
    break: ({ backend }: World) => {
      backend.metadata = { resource };
    },
  })),
  {
    name: 'speaks of a sibling',
    reason: 'authorization_undiscovered',
    message: /another resource/,
    break: ({ backend }) => {
      backend.metadata = { resource: `${backend.site.origin}/mcp2` };
    },
  },
  {
    name: 'names no authorization server',
    reason: 'authorization_undiscovered',
    message: /names no authorization server/,
    break: ({ backend }) => {
      backend.metadata = { authorization_servers: [] };
    },
  },
  {
    name: 'names one that must not be asked',
    reason: 'authorization_untrusted',
    message: /169\.254\.169\.254.*the gateway does not connect to it$/,
    cure: /auth\.authorizationServers/,
    break: ({ backend }) => {
      backend.metadata = { authorization_servers: ['https://169.254.169.254'] };
    },
  },
  {
    name: 'names one over plain http',
    reason: 'authorization_untrusted',
    message: /does not use https, so the gateway does not connect to it$/,
    cure: /use https at the authorization server/,
    break: ({ backend }) => {
      backend.metadata = { authorization_servers: ['http://login.example'] };
    },
  },
];

const proven = verifies(
  'client-auth:as-metadata-discovery:issuer-validation',
  'client-auth:pkce:refuse-if-unsupported',
  'client-auth:prm-resource-mismatch',
);

describe('discovery fails, and no user is redirected', proven, () => {
  it.each([
    ...badServers.map((row) => ({ ...row, name: `by a server whose metadata ${row.name}` })),
    ...badResources.map((row) => ({ ...row, name: `by a backend whose metadata ${row.name}` })),
  ])('$name', async (row) => {
    row.break(world);
    const failure = await world.firstRefusal(world.start());
    expect(failure.reason).toBe(row.reason);
    expect(failure.message).toMatch(row.message);
    expect(failure.cure ?? '').toMatch(row.cure ?? /^$/);
    const touched = ['/register', '/authorize', '/token'];
    expect(world.issuer.site.paths.filter((asked) => touched.includes(asked))).toEqual([]);
  });
});

describe('client credentials', () => {
  it('do not need PKCE', async () => {
    world.issuer.metadata = { code_challenge_methods_supported: undefined };
    const credentials = world.start({ grant: 'client_credentials', clientId: 'robot', clientSecret: 'hush' });
    const presenter = credentials.credentialProviderFor('files', alice);
    await presenter?.refused(world.refusal({}));
    expect((await presenter?.headers())?.authorization).toMatch(/^Bearer access-/);
  });
});

describe('a pinned issuer', () => {
  it('is used, and no other issuer that the backend names', async () => {
    const failure = await world.firstRefusal(world.start({ issuer: 'https://login.example' }));
    expect(failure.reason).toBe('client_unregistered');
    expect(world.issuer.site.log).toEqual([]);
  });

  it('is found anywhere in the list', async () => {
    const { issuer } = world.issuer;
    world.backend.metadata = { authorization_servers: ['https://first.example', issuer] };
    expect((await world.firstRefusal(world.start({ issuer }))).reason).toBe('consent_needed');
  });
});

describe('another issuer than before', () => {
  it(
    'gets neither the tokens nor the registration of the old one',
    verifies('client-auth:as-binding', 'client-auth:token-provenance'),
    async () => {
      const other = await World.open();
      try {
        const credentials = world.start();
        const old = await world.connect(credentials);
        const [registered] = world.issuer.site.asked('/register');
        world.backend.issuer = other.issuer.issuer;
        const presenter = credentials.credentialProviderFor('files', alice);
        const failure = await failureOf(presenter?.refused(world.refusal(old)));
        expect(failure.reason).toBe('consent_needed');
        await world.agree(credentials, String(failure.data?.elicitationId));
        const headers = await presenter?.headers();
        expect(other.issuer.accessTokens.has(headers?.authorization?.slice(7) ?? '')).toBe(true);
        expect(other.issuer.site.asked('/register')).toHaveLength(1);
        expect(registered).toBeDefined();
        const told = JSON.stringify(other.issuer.site.log);
        for (const secret of world.issuer.accessTokens.keys()) expect(told).not.toContain(secret);
        expect(world.issuer.tokenRequests('refresh_token')).toEqual([]);
      } finally {
        await other.close();
      }
    },
  );

  it('is reported to the operator if the client was registered beforehand', async () => {
    const other = await World.open();
    try {
      const credentials = world.start({ clientId: 'ours', clientSecret: 'hush' });
      const old = await world.connect(credentials);
      world.backend.issuer = other.issuer.issuer;
      const failure = await failureOf(credentials.credentialProviderFor('files', alice)?.refused(world.refusal(old)));
      expect(failure.reason).toBe('client_unregistered');
      expect(JSON.stringify(other.issuer.site.log)).not.toContain('hush');
    } finally {
      await other.close();
    }
  });
});
