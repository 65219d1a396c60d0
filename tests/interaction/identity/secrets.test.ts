/**
 * Secrets are planted wherever the gateway meets one, and everything that it says is looked through, at its most
 * talkative.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { type Answer, send } from '../harness/client.ts';
import { bearer, keyRing, tokenIssuer } from '../harness/credentials.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { configFile, run, serve } from '../harness/program.ts';
import { modernProcess } from '../harness/stdio-backend.ts';
import { ways } from './ways.ts';

const env = {
  SEAL_KEY: 'planted-seal-key-planted-seal-key-0123456789',
  BACKEND_TOKEN: 'planted-backend-token-4711',
  CLIENT_SECRET: 'planted-client-secret-0815',
  PROCESS_SECRET: 'planted-process-secret-1234',
  UNUSED_SECRET: 'planted-unused-secret-5678',
};
const fileSecret = 'planted-file-secret-9999';

async function setting() {
  const ring = keyRing();
  const key = ring.make('alice');
  const revoked = ring.make('gone');
  ring.revoke('gone');
  const issuer = await tokenIssuer();
  const backend = await modernBackend({
    'tools/call': (turn) => turn.raw(500, { 'www-authenticate': 'Bearer' }, 'broken'),
  });
  const stdio = await modernProcess({ 'tools/call': (turn) => turn.process.exit(1) });
  const config = {
    backends: {
      http: {
        url: backend.url,
        headers: { Authorization: `Bearer \${BACKEND_TOKEN}`, 'X-Key': `\${file:secret.txt}` },
      },
      stdio: { command: stdio.command, args: stdio.args, env: { API_KEY: `\${PROCESS_SECRET}` } },
      away: { url: 'http://127.0.0.1:9/mcp', headers: { 'X-Key': `\${file:secret.txt}` } },
    },
    identity: {
      keys: { file: ring.path, header: 'x-access-key', query: 'key' },
      issuers: [
        {
          issuer: issuer.url,
          introspection: { url: `${issuer.url}/introspect`, clientId: 'bascule', clientSecret: `\${CLIENT_SECRET}` },
        },
      ],
    },
    seal: { key: `\${SEAL_KEY}` },
    log: { level: 'debug' },
  };
  const token = await issuer.token('https://elsewhere.example', { jti: 'planted-jti' });
  const { salt, keys } = JSON.parse(readFileSync(ring.path, 'utf8'));
  const secrets: Readonly<Record<string, string>> = {
    ...env,
    fileSecret,
    key: key.slice(-43),
    revoked: revoked.slice(-43),
    'signature of the token': token.split('.')[2] ?? '',
    'claims of the token': token.split('.')[1] ?? '',
    opaque: 'planted-opaque-token',
    basic: Buffer.from(`bascule:${env.CLIENT_SECRET}`).toString('base64'),
    salt,
    hash: keys[0].hash,
    guess: 'planted-guess',
  };
  const files: Readonly<Record<string, string>> = { ...configFile(config).files, 'secret.txt': `${fileSecret}\n` };
  const options = { files, env };
  return { key, revoked, token, secrets, options, issuer };
}

function expectNone(secrets: Readonly<Record<string, string>>, said: string): void {
  for (const [name, secret] of Object.entries(secrets)) {
    expect(said.includes(secret), `${name} stands in what was said`).toBe(false);
    expect(said.includes(encodeURIComponent(secret)), `${name}, encoded`).toBe(false);
  }
}

describe('no secret is revealed', verifies('gateway:identity:secrets', 'gateway:identity:query-key'), () => {
  it('in logs, answers and titles of processes', async () => {
    const { key, revoked, token, secrets, options, issuer } = await setting();
    issuer.introspected = (asked) => {
      if (asked !== 'planted-opaque-token') return { active: false };
      return { active: true, sub: 'eve', aud: 'https://elsewhere.example', iss: issuer.url };
    };
    const { program, origin } = await serve([], options);
    const answers: Answer[] = [];
    const presented = [
      { query: '', headers: bearer(key) },
      { query: `?key=${key}`, headers: {} },
      { query: `?key=${revoked}`, headers: {} },
      { query: `?%6Bey=${key}&other=1`, headers: { 'x-access-key': 'planted-guess' } },
      { query: '', headers: bearer(token) },
      { query: '', headers: bearer('planted-opaque-token') },
      { query: `?access_token=${token}`, headers: { 'x-access-key': 'planted-guess' } },
      { query: '', headers: { ...bearer(token), 'x-access-key': key } },
      {
        query: '',
        headers: { authorization: `Basic ${Buffer.from('planted-guess:planted-guess').toString('base64')}` },
      },
    ];
    for (const { query, headers } of presented) {
      for (const way of ways) {
        const path = (way.at ?? ((at: string) => at))('/servers/http/mcp');
        const url = `${origin}${path}${path.includes('?') ? query.replace('?', '&') : query}`;
        const controller = { ...way.call, headers: { ...way.call.headers, ...headers } };
        // Streams that somebody may open are not waited for.
        if (/GET|subscription|stream/.test(way.name)) continue;
        answers.push(
          await send(url, { ...controller }).catch((error) => Promise.reject(new Error(`${way.name}: ${error}`))),
        );
      }
      for (const backend of ['http', 'stdio', 'away']) {
        const call = modern({ method: 'tools/call', params: { name: 'work' }, headers });
        answers.push(await send(`${origin}/servers/${backend}/mcp${query}`, call));
      }
    }
    for (const path of [
      '/healthz',
      '/readyz',
      '/nowhere?key=planted-guess',
      '/.well-known/oauth-protected-resource/mcp',
    ]) {
      answers.push(await send(`${origin}${path}`, { method: 'GET' }));
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    const titles = cmdlines(program.pid);
    program.kill('SIGTERM');
    await program.end();
    expect(program.stderr).toMatch(/debug/);
    const heard = answers.map(({ headers, body }) => JSON.stringify(headers) + body).join('\n');
    expectNone(secrets, heard);
    expectNone(secrets, `${program.stdout}${program.stderr}`);
    expectNone(secrets, titles);
  });

  it('when the config is checked, understood or not', async () => {
    const { secrets, options } = await setting();
    const good = await run(['config', 'check', 'bascule.yaml'], options);
    expect(good.exit.code).toBe(0);
    expectNone(secrets, good.stdout + good.stderr);
    const text = options.files['bascule.yaml'] ?? '';
    const broken = [
      text.replace('"log":', '"lgo":'),
      text.replace(`\${file:secret.txt}`, `\${file:missing.txt}`),
      text.replace('"X-Key":"', '"X-Key":"\\n'),
      text.replace(`Bearer \${BACKEND_TOKEN}`, `\${BACKEND_TOKEN}\\u0000`),
    ];
    for (const one of broken) {
      const bad = await run(['config', 'check', 'bascule.yaml'], {
        ...options,
        files: { ...options.files, 'bascule.yaml': one },
      });
      expect(bad.exit.code).toBe(1);
      expectNone(secrets, bad.stdout + bad.stderr);
    }
  });
});

/** Of the process and of everything that it started. */
function cmdlines(pid: number): string {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const parentOf = (one: string) => /^PPid:\s*(\d+)/m.exec(read(`/proc/${one}/status`))?.[1];
  const family = new Set([String(pid)]);
  for (let before = 0; before !== family.size; ) {
    before = family.size;
    for (const one of all) if (family.has(parentOf(one) ?? '')) family.add(one);
  }
  return [...family].map((one) => read(`/proc/${one}/cmdline`)).join('\n');
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
