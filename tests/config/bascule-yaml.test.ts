import { describe, expect, test } from 'vitest';
import { ConfigDocument } from '../../src/config/document.ts';
import { defaultLimits } from '../../src/config/limits.ts';
import { complaintsAbout, configOf, errorOf, load } from './loading.ts';

const stdio = { kind: 'stdio', args: [], env: {}, share: false, maxProcesses: 16, idleMs: 1_800_000, state: 'session' };
const lenient = { batches: 'deny', accept: 'lenient', elicitation: 'any', toolNames: 'any' };
const withoutBatches = ['2024-11-05', '2025-06-18', '2025-11-25', '2026-07-28'];
const open = { kind: 'open' };
const nobody = { issuers: [], implies: {} };
const required = { denials: 'error', sessions: 'required', names: 'always', identity: open, deviations: [] };

describe('the line that is shown with a config error', () => {
  test.each([
    {
      name: 'has the settings of identity that are no secrets',
      text: 'backends: {}\nidentity: { keys: { file: keys.json, headr: x-key } }\n',
      shown: 'identity: { keys: { file: keys.json, headr: *-*** } }',
    },
    {
      name: 'contains who and what a rule is about, and no keys',
      text: 'backends: {}\npolicy: { rules: [{ id: a, efect: deny, who: { groups: [staff], keys: [bsc_x] }, on: { tools: ["*"] } }] }\n',
      shown: 'efect: ****, who: { groups: [staff], keys: [*****] }',
    },
    {
      name: 'contains what a rate counts',
      text: 'backends: {}\nrates: [{ id: r, perSecond: 5, bursts: 9, on: { tools: [a] } }]\n',
      shown: 'id: r, perSecond: 5, bursts: *, on: { tools: [a] }',
    },
  ])('$name', ({ text, shown }) => {
    expect(complaintsAbout(text)).toContain(shown);
  });
});

describe('bascule.yaml', () => {
  test('with only a backend gets every default', () => {
    expect(load('backends:\n  files: { command: npx }\n')).toEqual({
      notices: [],
      config: {
        generation: 1,
        source: 'bascule.yaml',
        listen: {
          host: '127.0.0.1',
          port: 8808,
          allowedOrigins: [],
          allowedHosts: [],
          trustedProxies: [],
          openToNetwork: false,
        },
        backends: [{ ...stdio, name: 'files', command: 'npx' }],
        services: [],
        endpoints: [
          { path: '/mcp', backends: ['files'], profile: { revisions: withoutBatches, ...lenient }, ...required },
          {
            path: '/servers/files/mcp',
            backends: ['files'],
            profile: { revisions: withoutBatches, ...lenient },
            ...required,
          },
        ],
        limits: defaultLimits,
        identity: nobody,
        rates: [],
        disabled: [],
        operators: {},
        log: { level: 'info', format: 'auto', requests: false },
        store: { dir: '/project/.bascule' },
        watch: true,
        seal: {},
        instance: {},
      },
    });
  });

  test('can set everything', () => {
    const text = `
listen:
  host: 0.0.0.0
  port: \${PORT}
  allowedOrigins: [HTTPS://App.Example:443, 'http://localhost:6274', 'vscode-webview://Abc']
  allowedHosts: [Gateway.Example, 'gateway.example:8808', '[::1]:80']
  trustedProxies: [10.1.0.0/16, 'fd00::1']
  openToNetwork: \${OPEN:-true}
backends:
  files:
    command: node
    args: [server.js, --port, 8080, --ratio, 1.50, true]
    env: { VERSION: 1.10, DEBUG: yes, TOKEN: 't-\${TOKEN}' }
    cwd: work
    share: true
    idleMs: 1min
  many:
    command: many
    maxProcesses: 3
    limits: { totalMs: 1h }
  search:
    url: https://search.example/mcp
    headers: { Authorization: 'Bearer \${TOKEN}', X-Literal: '$\${TOKEN}' }
    transport: sse
endpoints:
  - path: /all
  - path: /caf%c3%a9/mcp
    backends: [search, files]
    profile: { revisions: [2026-07-28, 2025-11-25], accept: strict }
    sessions: optional
    names: collision
  - path: /batches
    profile: { batches: allow }
  - path: /explicit
    profile: { revisions: [2025-03-26] }
limits:
  bodyBytes: 1MiB
  drainMs: 2.5 s
  rounds: 3
log: { level: debug, format: text, requests: true }
metrics: { listen: "[::1]:9999" }
watch: false
seal: { key: 0123456789abcdef0123456789abcdef, previous: [fedcba9876543210fedcba9876543210] }
name: one of them
`;
    const { config, notices } = load(text, 'bascule.yaml', { PORT: '9000', TOKEN: 'x' }, { generation: 7 });
    expect(notices).toEqual([]);
    expect(config).toEqual({
      generation: 7,
      source: 'bascule.yaml',
      listen: {
        host: '0.0.0.0',
        port: 9000,
        allowedOrigins: ['https://app.example', 'http://localhost:6274', 'vscode-webview://abc'],
        allowedHosts: ['gateway.example', 'gateway.example:8808', '[::1]:80'],
        trustedProxies: ['10.1.0.0/16', 'fd00::1'],
        openToNetwork: true,
      },
      backends: [
        {
          ...stdio,
          name: 'files',
          command: 'node',
          args: ['server.js', '--port', '8080', '--ratio', '1.50', 'true'],
          env: { VERSION: '1.10', DEBUG: 'yes', TOKEN: 't-x' },
          cwd: '/project/work',
          share: true,
          maxProcesses: 1,
          idleMs: 60_000,
        },
        { ...stdio, name: 'many', command: 'many', maxProcesses: 3, limits: { totalMs: 3_600_000 } },
        {
          kind: 'http',
          name: 'search',
          url: 'https://search.example/mcp',
          headers: { Authorization: 'Bearer x', 'X-Literal': `\${TOKEN}` },
          transport: 'sse',
        },
      ],
      services: [],
      endpoints: [
        {
          path: '/all',
          backends: ['files', 'many', 'search'],
          profile: { revisions: withoutBatches, ...lenient },
          ...required,
        },
        {
          path: '/caf%C3%A9/mcp',
          backends: ['search', 'files'],
          profile: { revisions: ['2025-11-25', '2026-07-28'], ...lenient, accept: 'strict' },
          denials: 'error',
          sessions: 'optional',
          names: 'collision',
          identity: open,
          deviations: [],
        },
        {
          path: '/batches',
          backends: ['files', 'many', 'search'],
          profile: {
            revisions: ['2024-11-05', '2025-03-26', ...withoutBatches.slice(1)],
            ...lenient,
            batches: 'allow',
          },
          ...required,
        },
        {
          path: '/explicit',
          backends: ['files', 'many', 'search'],
          profile: { revisions: ['2025-03-26'], ...lenient },
          denials: 'error',
          sessions: 'required',
          names: 'always',
          identity: open,
          deviations: ['supports 2025-03-26 but refuses batches, which that revision requires servers to accept'],
        },
      ],
      identity: nobody,
      rates: [],
      disabled: [],
      operators: {},
      limits: { ...defaultLimits, bodyBytes: 1024 * 1024, drainMs: 2500, rounds: 3 },
      log: { level: 'debug', format: 'text', requests: true },
      metrics: { host: '::1', port: 9999 },
      store: { dir: '/project/.bascule' },
      watch: false,
      seal: { key: '0123456789abcdef0123456789abcdef', previous: ['fedcba9876543210fedcba9876543210'] },
      instance: { name: 'one of them' },
    });
  });

  test('is frozen to its last member', () => {
    const config = configOf('backends: { a: { command: x, env: { A: b } }, b: { url: "http://b.example" } }');
    const thawed: string[] = [];
    const look = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      if (!Object.isFrozen(value)) thawed.push(path);
      for (const [key, member] of Object.entries(value)) look(member, `${path}.${key}`);
    };
    look(config, 'config');
    expect(thawed).toEqual([]);
  });

  test('ignores a disabled entry, whatever it lacks', () => {
    const text = `
backends:
  a: { command: a }
  b: { command: '\${NOWHERE}', disabled: true }
endpoints: [{ path: /x, backends: [a, b] }]
`;
    const { config, notices } = load(text);
    expect(config.backends.map(({ name }) => name)).toEqual(['a']);
    expect(config.endpoints[0]?.backends).toEqual(['a']);
    expect(notices).toEqual(['backend `b` is disabled and is ignored']);
  });

  test('may have no backend at all, and reports that', () => {
    const { config, notices } = load('backends: {}');
    expect(config.endpoints.map(({ path }) => path)).toEqual(['/mcp']);
    expect(notices).toEqual(['the config has no backend, so clients find nothing']);
  });

  test('may use thousands of aliases, each for the last anchor of its name before it', () => {
    const used = Array.from({ length: 5_000 }, (_, at) => `  - *${at % 2 === 0 ? 'a' : 'b'}\n`).join('');
    const document = new ConfigDocument('bascule.yaml', `a: &a 1\nb: &b 2\nc: &a 3\nlist:\n${used}`, 'yaml');
    expect(new Set(document.read(['list']) as number[])).toEqual(new Set([3, 2]));
  });

  test('may use anchors and aliases', () => {
    const config = configOf('backends:\n  a: &one { command: x, env: { A: b } }\n  b: *one\n');
    expect(config.backends).toEqual([
      { ...stdio, name: 'a', command: 'x', env: { A: 'b' } },
      { ...stdio, name: 'b', command: 'x', env: { A: 'b' } },
    ]);
  });
});

describe('an error in bascule.yaml is reported with place and remedy', () => {
  const backend = 'backends:\n  files: { command: npx }\n';
  const cases: { name: string; text: string; says: string }[] = [
    {
      name: 'an unknown key',
      text: `${backend}listne: { port: 1 }\n`,
      says: `bascule.yaml:3:1: unknown key \`listne\`
  3 | listne: { port: * }
    | ^^^^^^
  expected one of: listen, backends, endpoints, extensions, limits, identity, policy, rates, audit, rehearsal, pins, metrics, console, proxy, store, replicas, log, traces, watch, seal, name
  did you mean \`listen\`?`,
    },
    {
      name: 'an unknown key of a backend, with its value hidden',
      text: 'backends:\n  files:\n    command: npx\n    max_processes: 4\n',
      says: `bascule.yaml:4:5: unknown key \`max_processes\`
  4 |     max_processes: *
    |     ^^^^^^^^^^^^^
  expected one of: protocol, command, args, env, cwd, user, sandbox, share, maxProcesses, idleMs, state, url, socket, headers, auth, transport, credentials, limits, disabled, profile, traces, overrides
  did you mean \`maxProcesses\`?`,
    },
    {
      name: 'no backends',
      text: 'log: { level: info }\n',
      says: `bascule.yaml:1:1: \`backends\` is missing
  1 | log: { level: info }
    | ^^^
  expected a map of backends by name`,
    },
    {
      name: 'mcpServers',
      text: 'mcpServers:\n  a: { command: x }\n',
      says: `bascule.yaml:1:1: \`mcpServers\` is not a setting of bascule.yaml
  1 | mcpServers:
    | ^^^^^^^^^^
  expected \`backends\` instead; \`mcpServers\` belongs in files that end in .json

bascule.yaml:1:1: \`backends\` is missing
  1 | mcpServers:
    | ^^^^^^^^^^
  expected a map of backends by name`,
    },
    {
      name: 'a list for a map',
      text: '- a\n- b\n',
      says: `bascule.yaml:1:3: \`the file\` has a wrong value
  1 | - *
    |   ^
  expected a map of settings`,
    },
    {
      name: 'an empty backend',
      text: 'backends:\n  files:\n  search: [1]\n',
      says: `bascule.yaml:2:3: \`files\` has a wrong value
  2 |   files:
    |   ^^^^^
  expected a map of settings with \`command\` or \`url\`

bascule.yaml:3:11: \`search\` has a wrong value
  3 |   search: [*]
    |           ^
  expected a map of settings with \`command\` or \`url\``,
    },
    {
      name: 'a backend that is neither kind',
      text: 'backends:\n  files: { args: [x] }\n',
      says: `bascule.yaml:2:3: neither \`command\` nor \`url\`
  2 |   files: { args: [*] }
    |   ^^^^^
  expected one of them: \`command\` starts a server, \`url\` calls one`,
    },
    {
      name: 'a backend that is both kinds',
      text: 'backends:\n  files: { command: x, url: "https://x.example/private" }\n',
      says: `bascule.yaml:2:24: both \`command\` and \`url\`
  2 |   files: { command: x, url: "https://*****************" }
    |                        ^^^
  expected one of them: \`command\` starts a server, \`url\` calls one`,
    },
    {
      name: 'settings of the other kind',
      text: 'backends:\n  a: { command: x, headers: { A: b }, transport: sse }\n  b: { url: "http://b.example", share: true }\n',
      says: `bascule.yaml:2:20: \`headers\` has no effect here
  2 |   a: { command: x, headers: { A: * }, transport: sse }
    |                    ^^^^^^^
  expected \`headers\` only beside a \`url\`

bascule.yaml:2:39: \`transport\` has no effect here
  2 |   a: { command: x, headers: { A: * }, transport: sse }
    |                                       ^^^^^^^^^
  expected \`transport\` only beside a \`url\`

bascule.yaml:3:33: \`share\` has no effect here
  3 |   b: { url: "http://*********", share: true }
    |                                 ^^^^^
  expected \`share\` only beside a \`command\``,
    },
    {
      name: 'a name that no path can hold',
      text: 'backends:\n  ..: { command: x }\n  my files: { command: x }\n',
      says: `bascule.yaml:2:3: \`..\` can't be the name of a backend
  2 |   ..: { command: x }
    |   ^^
  expected up to 64 letters, digits, dots, dashes and underscores

bascule.yaml:3:3: \`my files\` can't be the name of a backend
  3 |   my files: { command: x }
    |   ^^^^^^^^
  expected up to 64 letters, digits, dots, dashes and underscores`,
    },
    {
      name: 'headers that are duplicate, malformed, or reserved by the gateway',
      text: 'backends:\n  b:\n    url: http://b.example\n    headers:\n      X-A: 1\n      x-a: 2\n      Mcp-Session-Id: 3\n  c: { url: "http://c.example", headers: { "X A": 1, X-B: "a\\nb" } }\n',
      says: `bascule.yaml:6:7: \`x-a\` is repeated
  6 |       x-a: *
    |       ^^^

bascule.yaml:7:7: \`Mcp-Session-Id\` is set by the gateway itself
  7 |       Mcp-Session-Id: *
    |       ^^^^^^^^^^^^^^

bascule.yaml:8:44: \`X A\` can't be a key here
  8 |   c: { url: "http://*********", headers: { "X A": *, X-B: "****" } }
    |                                            ^^^^^
  expected the name of an HTTP header

bascule.yaml:8:59: \`X-B\` has a wrong value
  8 |   c: { url: "http://*********", headers: { "X A": *, X-B: "****" } }
    |                                                           ^^^^^^
  expected text that fits on one line of an HTTP header`,
    },
    {
      name: 'invalid addresses',
      text: 'backends:\n  a: { url: search.example/mcp }\n  b: { url: "https://ada:pw@b.example" }\n  c: { url: "ws://c.example" }\n',
      says: `bascule.yaml:2:13: \`url\` has a wrong value
  2 |   a: { url: ****************** }
    |             ^^^^^^^^^^^^^^^^^^
  expected an http:// or https:// address

bascule.yaml:3:13: \`url\` has a wrong value
  3 |   b: { url: "https://***:************" }
    |             ^^^^^^^^^^^^^^^^^^^^^^^^^^
  expected an address without user name and password: they go into \`headers\`

bascule.yaml:4:13: \`url\` has a wrong value
  4 |   c: { url: "ws://*********" }
    |             ^^^^^^^^^^^^^^^^
  expected an http:// or https:// address`,
    },
    {
      name: 'a variable that is not set, and an invalid one',
      text: `backends:
  a:
    command: x
    env:
      TOKEN: "a \${ONE} b \${TWO}"
      OTHER: \${x y}
      THIRD: \${A:-\${B}}
      FOURTH: \${
`,
      says: `bascule.yaml:5:17: the environment variable \`ONE\` is not set
  5 |       TOKEN: "* \${ONE} * \${TWO}"
    |                 ^^^^^^
  expected the variable to be set, or a default: \`\${ONE:-...}\`

bascule.yaml:5:26: the environment variable \`TWO\` is not set
  5 |       TOKEN: "* \${ONE} * \${TWO}"
    |                          ^^^^^^
  expected the variable to be set, or a default: \`\${TWO:-...}\`

bascule.yaml:6:14: this is not a variable
  6 |       OTHER: \${* *}
    |              ^^^^^^
  expected \`\${NAME}\`, \`\${NAME:-default}\` or \`\${file:/path}\`; a literal \`\${\` is written \`$\${\`

bascule.yaml:7:14: the default of \`A\` contains a variable
  7 |       THIRD: \${A:-\${B}}
    |              ^^^^^^^^^
  expected a default of plain text

bascule.yaml:8:15: \`\${\` without \`}\`
  8 |       FOURTH: \${
    |               ^^
  expected \`\${NAME}\`, \`\${NAME:-default}\` or \`\${file:/path}\`; a literal \`\${\` is written \`$\${\``,
    },
    {
      name: 'endpoints that contradict themselves or each other',
      text: `${backend}endpoints:
  - path: /a
    backends: [flies]
  - path: /%61
    backends: [files, files]
  - path: /b
    profile:
      revisions: [2025-06-18, 2025-06-18]
      batches: allow
  - backends: [files]
  - path: /../x
  - path: /.well-known/x
  - path: /c/
  - path: /d
    profile: { revisions: [2025-6-18], batch: deny }
    sessions: requird
`,
      says: `bascule.yaml:5:16: there is no backend \`flies\`
  5 |     backends: [flies]
    |                ^^^^^
  expected one of: files
  did you mean \`files\`?

bascule.yaml:6:11: another endpoint has this \`path\` already
  6 |   - path: /%61
    |           ^^^^
  expected a different path

bascule.yaml:7:23: \`files\` is in this list already
  7 |     backends: [files, files]
    |                       ^^^^^

bascule.yaml:10:31: \`2025-06-18\` is in this list already
  10 |       revisions: [2025-06-18, 2025-06-18]
     |                               ^^^^^^^^^^

bascule.yaml:11:16: \`batches: allow\` has no effect here
  11 |       batches: allow
     |                ^^^^^
  expected \`2025-03-26\` among the \`revisions\`: no other revision has batches

bascule.yaml:12:5: \`path\` is missing
  12 |   - backends: [files]
     |     ^^^^^^^^
  expected a path such as /mcp or /teams/blue/mcp: letters, digits, . _ ~ - and %XX, no / at its end

bascule.yaml:13:11: \`path\` has a wrong value
  13 |   - path: /../x
     |           ^^^^^
  expected a path such as /mcp or /teams/blue/mcp: letters, digits, . _ ~ - and %XX, no / at its end

bascule.yaml:14:11: \`path\` has a wrong value
  14 |   - path: /.well-known/x
     |           ^^^^^^^^^^^^^^
  expected a path such as /mcp or /teams/blue/mcp: letters, digits, . _ ~ - and %XX, no / at its end

bascule.yaml:15:11: \`path\` has a wrong value
  15 |   - path: /c/
     |           ^^^
  expected a path such as /mcp or /teams/blue/mcp: letters, digits, . _ ~ - and %XX, no / at its end

bascule.yaml:17:28: \`revisions\` has a wrong value
  17 |     profile: { revisions: [2025-6-18], batch: **** }
     |                            ^^^^^^^^^
  expected one of: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28
  did you mean \`2025-06-18\`?

bascule.yaml:17:40: unknown key \`batch\`
  17 |     profile: { revisions: [2025-6-18], batch: **** }
     |                                        ^^^^^
  expected one of: revisions, batches, accept, elicitation, toolNames, bodyBytes, jsonDepth
  did you mean \`batches\`?

bascule.yaml:18:15: \`sessions\` has a wrong value
  18 |     sessions: requird
     |               ^^^^^^^
  expected required or optional
  did you mean \`required\`?`,
    },
    {
      name: 'limits out of range, of the wrong unit, or against each other',
      text: `${backend}limits: { bodyBytes: 4 MB, rounds: 0, jsonDepth: 1.5, askMs: 5MiB, outboxSoftBytes: 9MiB, sesionsTotal: 5 }\n`,
      says: `bascule.yaml:3:22: \`bodyBytes\` has a wrong value
  3 | limits: { bodyBytes: 4 MB, rounds: 0, jsonDepth: 1.5, askMs: 5MiB, outboxSoftByte...
    |                      ^^^^
  expected a size from 1 KiB to 512 MiB, such as 64KiB or a number of bytes

bascule.yaml:3:36: \`rounds\` has a wrong value
  3 | limits: { bodyBytes: 4 MB, rounds: 0, jsonDepth: 1.5, askMs: 5MiB, outboxSoftBytes: 9MiB, sesio...
    |                                    ^
  expected a whole number from 1 to 1000

bascule.yaml:3:50: \`jsonDepth\` has a wrong value
  3 | limits: { bodyBytes: 4 MB, rounds: 0, jsonDepth: 1.5, askMs: 5MiB, outboxSoftBytes: 9MiB, sesionsTotal: 5 }
    |                                                  ^^^
  expected a whole number from 8 to 1000

bascule.yaml:3:62: \`askMs\` has a wrong value
  3 | ...imits: { bodyBytes: 4 MB, rounds: 0, jsonDepth: 1.5, askMs: 5MiB, outboxSoftBytes: 9MiB, sesionsTotal: 5 }
    |                                                                ^^^^
  expected a time from 100 ms to 24 d, such as 30s or a number of milliseconds

bascule.yaml:3:85: \`outboxSoftBytes\` is higher than \`outboxBytes\`
  3 | ...B, rounds: 0, jsonDepth: 1.5, askMs: 5MiB, outboxSoftBytes: 9MiB, sesionsTotal: 5 }
    |                                                                ^^^^
  expected at most 8 MiB, which is \`outboxBytes\`

bascule.yaml:3:91: unknown key \`sesionsTotal\`
  3 | ...nds: 0, jsonDepth: 1.5, askMs: 5MiB, outboxSoftBytes: 9MiB, sesionsTotal: 5 }
    |                                                                ^^^^^^^^^^^^
  expected one of: LIMITS
  did you mean \`sessionsTotal\`?`.replace('LIMITS', Object.keys(defaultLimits).join(', ')),
    },
    {
      name: 'an address that others can reach, together with everything else',
      text: `${backend}listen: { host: 0.0.0.0, port: 8808 }\nlog: { level: verbose }\n`,
      says: `bascule.yaml:3:17: this address can be reached from the network, and the gateway requires no authentication
  3 | listen: { host: 0.0.0.0, port: 8808 }
    |                 ^^^^^^^
  expected 127.0.0.1, ::1 or localhost; or \`openToNetwork: true\` to allow it

bascule.yaml:4:15: \`level\` has a wrong value
  4 | log: { level: verbose }
    |               ^^^^^^^
  expected one of: debug, info, warn, error`,
    },
    {
      name: 'where to listen',
      text: `${backend}listen:\n  host: "a b"\n  port: 65536\n  allowedOrigins: ["*", "https://x.example/y"]\n  allowedHosts: ["x:99999"]\n  openToNetwork: maybe\n`,
      says: `bascule.yaml:4:9: \`host\` has a wrong value
  4 |   host: "a b"
    |         ^^^^^
  expected a host name or an IP address

bascule.yaml:5:9: \`port\` has a wrong value
  5 |   port: 65536
    |         ^^^^^
  expected a whole number from 0 to 65535

bascule.yaml:6:20: \`allowedOrigins\` has a wrong value
  6 |   allowedOrigins: ["*", "https://x.example/y"]
    |                    ^^^
  expected an origin, such as https://app.example or http://localhost:6274

bascule.yaml:6:25: \`allowedOrigins\` has a wrong value
  6 |   allowedOrigins: ["*", "https://x.example/y"]
    |                         ^^^^^^^^^^^^^^^^^^^^^
  expected an origin, such as https://app.example or http://localhost:6274

bascule.yaml:7:18: \`allowedHosts\` has a wrong value
  7 |   allowedHosts: ["x:99999"]
    |                  ^^^^^^^^^
  expected a host name as \`Host\` carries it, with or without a port

bascule.yaml:8:18: \`openToNetwork\` has a wrong value
  8 |   openToNetwork: maybe
    |                  ^^^^^
  expected true or false`,
    },
    {
      name: 'a shared process that is to be many',
      text: 'backends:\n  a: { command: x, share: true, maxProcesses: 2 }\n',
      says: `bascule.yaml:2:47: \`maxProcesses\` contradicts \`share\`
  2 |   a: { command: x, share: true, maxProcesses: 2 }
    |                                               ^
  expected 1, since \`share: true\` means one process for all clients`,
    },
    {
      name: 'a key that is too weak, without showing it',
      text: `${backend}seal: { key: hunter2 }\n`,
      says: `bascule.yaml:3:14: \`key\` has a wrong value
  3 | seal: { key: ******* }
    |              ^^^^^^^
  expected a secret of at least 32 characters`,
    },
  ];
  test.each(cases)('$name', ({ text, says }) => {
    expect(complaintsAbout(text)).toBe(says);
  });

  test('and a truncated list of errors says how many more there are', () => {
    const wrong = Array.from({ length: 60 }, (_, at) => `  n${at}: { x: 1, command: y }\n`).join('');
    const error = errorOf(() => load(`backends:\n${wrong}`));
    expect(error.problems).toHaveLength(60);
    expect(error.format()).toMatch(/and 10 more problems$/);
  });
});
