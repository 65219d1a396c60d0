import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { describeConfig } from '../../src/config/describe.ts';
import { loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/problems.ts';
import { errorOf, load } from './loading.ts';

function among(files: Readonly<Record<string, string>>) {
  return { cwd: '/project', env: {}, readFile: (path: string) => files[path] };
}

const yaml = 'backends: { own: { command: x } }';
const json = '{"mcpServers": {"foreign": {"command": "x"}}}';

describe('which file', () => {
  const cases = [
    {
      name: 'our own before all others',
      files: { 'bascule.yml': yaml, 'mcp.json': json, '.mcp.json': json, 'bascule.yaml': yaml },
      source: 'bascule.yaml',
      notices: ['using bascule.yaml; these files are ignored: bascule.yml, .mcp.json, mcp.json'],
    },
    { name: 'the other spelling', files: { 'bascule.yml': yaml }, source: 'bascule.yml', notices: [] },
    {
      name: 'the hidden one before the open one',
      files: { 'mcp.json': json, '.mcp.json': json },
      source: '.mcp.json',
      notices: ['using .mcp.json; these files are ignored: mcp.json'],
    },
    { name: 'the open one', files: { 'mcp.json': json }, source: 'mcp.json', notices: [] },
  ];
  test.each(cases)('$name', ({ files, source, notices }) => {
    const inProject = Object.fromEntries(Object.entries(files).map(([name, text]) => [`/project/${name}`, text]));
    const loaded = loadConfig(among(inProject));
    expect(loaded.config.source).toBe(source);
    expect(loaded.notices).toEqual(notices);
  });

  test('none: the demo config', () => {
    const { config, notices } = loadConfig({ ...among({}), demo: { command: 'node', args: ['demo.js'] } });
    expect(config.source).toBe('demo');
    expect(config.backends).toMatchObject([{ kind: 'stdio', name: 'demo', command: 'node', args: ['demo.js'] }]);
    expect(config.endpoints.map(({ path }) => path)).toEqual(['/mcp', '/servers/demo/mcp']);
    expect(notices).toEqual([
      'no config file was found (bascule.yaml, .mcp.json or mcp.json): serving the built-in demo',
    ]);
  });

  test('the one that was named, relative to the working directory', () => {
    expect(loadConfig({ ...among({ '/project/etc/x.yaml': yaml }), path: 'etc/x.yaml' }).config.source).toBe(
      'etc/x.yaml',
    );
    expect(loadConfig({ ...among({ '/etc/x.yaml': yaml }), path: '/etc/x.yaml' }).config.source).toBe('/etc/x.yaml');
  });

  test('one that was named and is not there is an error, never the demo', () => {
    const error = errorOf(() => loadConfig({ ...among({ '/project/mcp.json': json }), path: 'other.yaml' }));
    expect(error.format()).toBe('other.yaml: there is no such file');
  });

  test('one that is there and can not be read is an error, never passed over', () => {
    const readFile = (path: string): string | undefined => {
      if (path === '/project/.mcp.json')
        throw Object.assign(new Error('EACCES: /project/.mcp.json'), { code: 'EACCES' });
      return path === '/project/mcp.json' ? json : undefined;
    };
    const error = errorOf(() => loadConfig({ cwd: '/project', env: {}, readFile }));
    expect(error.format()).toBe(".mcp.json: the file can't be read (EACCES)");
  });
});

describe('the command line', () => {
  test('overrides the file', () => {
    const overrides = { host: '::1', port: '0', logLevel: 'debug' };
    const { config } = load(
      'backends: {}\nlisten: { host: localhost, port: 1 }\nlog: { level: warn }',
      undefined,
      {},
      { overrides },
    );
    expect(config.listen).toMatchObject({ host: '::1', port: 0 });
    expect(config.log).toEqual({ level: 'debug', format: 'auto', requests: false });
  });

  test('is checked like the file, and together with it', () => {
    const overrides = { host: 'a b', port: '99999', logLevel: 'loud' };
    expect(errorOf(() => load('backends: {}\nx: 1', undefined, {}, { overrides })).format()).toBe(
      `command line: \`host\` has a wrong value
  expected a host name or an IP address

command line: \`port\` has a wrong value
  expected a whole number from 0 to 65535

command line: \`logLevel\` has a wrong value
  expected one of: debug, info, warn, error

bascule.yaml:2:1: unknown key \`x\`
  2 | x: *
    | ^
  expected one of: listen, backends, endpoints, extensions, limits, identity, policy, rates, audit, rehearsal, pins, metrics, console, proxy, store, replicas, log, traces, watch, seal, name`,
    );
  });

  test('needs an explicit flag to listen on a non-loopback address', () => {
    const host = '0.0.0.0';
    expect(errorOf(() => loadConfig({ ...among({}), overrides: { host } })).format()).toBe(
      `command line: this address can be reached from the network, and the gateway requires no authentication
  expected 127.0.0.1, ::1 or localhost; or \`--open-to-network\` to allow it`,
    );
    const { config } = loadConfig({ ...among({}), overrides: { host, openToNetwork: true } });
    expect(config.listen).toMatchObject({ host, openToNetwork: true });
  });
});

describe('the config summary', () => {
  const text = `
listen: { host: 0.0.0.0, openToNetwork: true, allowedOrigins: ['https://app.example'], allowedHosts: [gw.example] }
backends:
  files: { command: npx, args: [-y, --key=s3cr3t], env: { TOKEN: s3cr3t }, cwd: /srv }
  one: { command: one, share: true }
  search: { url: 'https://search.example/s3cr3ts3cr3ts3cr3t/mcp?key=s3cr3t', headers: { Authorization: s3cr3t } }
endpoints:
  - path: /mcp
  - path: /old
    backends: [search]
    profile: { revisions: [2025-03-26], accept: strict }
    sessions: optional
limits: { bodyBytes: 1MiB }
seal: { key: s3cr3ts3cr3ts3cr3ts3cr3ts3cr3ts3cr3t }
`;
  test('shows no secret', () => {
    const said = describeConfig(load(text).config);
    expect(said).toBe(`source
  bascule.yaml
listening
  http://0.0.0.0:8808 (open to the network, without authentication)
  origins: https://app.example
  hosts: gw.example
backends (3)
  files: npx in /srv (2 arguments, 1 environment variable, a process for each session, at most 16)
  one: one (one process for all clients)
  search: https://search.example/.../mcp?... (transport is detected, 1 header)
endpoints (2)
  /mcp: all 3 backends
    no authentication
    revisions 2024-11-05, 2025-06-18, 2025-11-25, 2026-07-28; batches: deny; accept: lenient; sessions: required
  /old: search
    no authentication
    revisions 2025-03-26; batches: deny; accept: strict; sessions: optional
    deviation: supports 2025-03-26 but refuses batches, which that revision requires servers to accept
limits
  bodyBytes: 1 MiB
policy
  none: everything is allowed
audit
  none: no decision is recorded
log
  level info, format auto
metrics
  off
seal
  seal.key of the config`);
    expect(said).not.toContain('s3cr3t');
  });

  test('describes upstream credentials, and the key of the store', () => {
    const said = describeConfig(
      load(`
store: { dir: /srv/state }
backends:
  files: { url: 'https://files.example/mcp', auth: { type: oauth } }
  robots:
    url: 'https://robots.example/mcp'
    auth: { type: oauth, grant: client_credentials, issuer: 'https://login.example', clientId: gate, clientSecret: s3cr3t, scopes: [a, b], shared: true }
`).config,
    );
    expect(said).toContain(`
  files: https://files.example/mcp (transport is detected)
    OAuth: authorization_code, an account for each caller
  robots: https://robots.example/mcp (transport is detected)
    OAuth: client_credentials, one account for all; issuer https://login.example/; client gate; scopes: a b
`);
    expect(said).toContain(`seal
  a random key of this process
  session ids and stored records: the key in /srv/state`);
    expect(said).not.toContain('s3cr3t');
  });

  test('describes the demo, too', () => {
    expect(describeConfig(loadConfig(among({})).config)).toBe(`source
  demo
listening
  http://127.0.0.1:8808 (this machine only)
backends (0)
endpoints (1)
  /mcp: no backend
    no authentication
    revisions 2024-11-05, 2025-06-18, 2025-11-25, 2026-07-28; batches: deny; accept: lenient; sessions: required
limits
  defaults
policy
  none: everything is allowed
audit
  none: no decision is recorded
log
  level info, format auto
metrics
  off
seal
  a random key of this process
  session ids and stored records: the key in /project/.bascule`);
  });
});

describe('any text gives a config or a ConfigError', () => {
  /** Words and punctuation of real files, so that the texts get past the parser now and then. */
  const pieces = [
    ...['backends', 'mcpServers', 'servers', 'listen', 'endpoints', 'limits', 'log', 'seal', 'a', 'command', 'url'],
    ...['args', 'env', 'headers', 'path', 'profile', 'revisions', 'batches', 'disabled', 'type', 'bodyBytes', 'port'],
    ...['2025-03-26', 'true', 'null', '1', '-1', '1e999', '0x1f', '/mcp', 'https://x.example', '__proto__', '~', '<<'],
    ...['{', '}', '[', ']', ':', ': ', ',', '"', "'", '\n', '\n  ', '\n    ', '- ', '\t', '#', '//', '/*', '*/', ' '],
    ...['&a ', '*a', '!x ', '|', '>', '---', '...', '%YAML 1.1', '?', '\\', '\\u0000', '\ud800', '\ufeff', '\0', '\r'],
    ...['$' + '{A}', '$' + '{', '$$' + '{', '$' + '{B:-x}', 'é', '\u{1f600}', '=', '@', '`'],
  ];
  const soup = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join(''));
  const tree = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(...pieces, 1, -1, 0.5, true, null),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...pieces), tie('value'), { maxKeys: 5, noNullPrototype: true }),
    ),
  })).value;
  const document = fc
    .dictionary(
      fc.constantFrom(...pieces.slice(0, 8)),
      fc.dictionary(fc.constantFrom(...pieces), tree, { maxKeys: 4 }),
      { maxKeys: 4 },
    )
    .map((value) => JSON.stringify(value, null, 2));

  test.each([
    { name: 'any characters', text: fc.string({ unit: 'binary', maxLength: 200 }) },
    { name: 'keywords of config files in any order', text: soup },
    { name: 'well-formed documents of any shape', text: document },
  ])('$name', ({ text }) => {
    fc.assert(
      fc.property(text, fc.constantFrom('x.yaml', 'x.json', 'x'), (written, file) => {
        try {
          const { config } = load(written, file, { A: 'a' });
          describeConfig(config);
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
          expect(error.problems.length).toBeGreaterThan(0);
          for (const { message, line, column } of error.problems) {
            expect(message).not.toBe('');
            expect(line === 0 ? column === 0 : line >= 1 && column >= 1).toBe(true);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['x.yaml', 'backends: { "a\\ud83d": { command: x } }'],
    ['x.json', '{"mcpServers": {"a\\ud83d": {"command": "x"}}}'],
  ])('nor does a name that no path can hold, in %s', (file, text) => {
    expect(() => load(text, file)).toThrow(ConfigError);
  });

  test('and no error shows the values of env, headers, args or keys, wherever the mistake is', () => {
    const secret = 's3cr3tValue';
    const sound = [
      `backends:\n  a:\n    command: x\n    args: [--key, ${secret}]\n    env:\n      TOKEN: ${secret}\n      path: '${secret}'\n  b:\n    url: https://b.example/${secret}?k=${secret}\n    headers: { accept-x: ${secret} }\nseal: { key: ${secret}${secret}${secret} }\n# ${secret}\n`,
      `{"mcpServers": {"a": {"command": "x", "args": ["--key", "${secret}"],\n "env": {"TOKEN": "${secret}", "type": "${secret}"}},\n "b": {"url": "https://b.example/${secret}", "headers": {"X": "${secret}"}}} // ${secret}\n}`,
    ];
    const damage = fc.record({
      which: fc.nat({ max: 1 }),
      at: fc.nat({ max: 400 }),
      removed: fc.nat({ max: 3 }),
      // Not a word: a secret under a name that means something else is no slip of the finger.
      added: fc.constantFrom('', ...pieces.filter((piece) => !/[A-Za-z]{3}/.test(piece))),
    });
    fc.assert(
      fc.property(damage, ({ which, at, removed, added }) => {
        const text = sound[which]!;
        const from = at % text.length;
        const damaged = text.slice(0, from) + added + text.slice(from + removed);
        try {
          load(damaged, which === 0 ? 'x.yaml' : 'x.json');
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error;
          expect(error.format()).not.toContain(secret);
        }
      }),
      { numRuns: 200 },
    );
  });
});
