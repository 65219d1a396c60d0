/** `listen.tls`: HTTPS, and certificates that are replaced while clients are connected. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { type Agent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { text } from '../harness/behind.ts';
import { type Headers, until } from '../harness/client.ts';
import { initialize } from '../harness/eras.ts';
import { legacyBackend, modernBackend, type Script } from '../harness/http-backend.ts';
import { aCall, eventually } from '../harness/limits.ts';
import { configFile, run, serve } from '../harness/program.ts';
import { agentFor, handshake, sendTls, tlsFolder } from '../harness/tls.ts';

const script: Script = { 'tools/call': (turn) => turn.result({ resultType: 'complete', ...text('done') }) };
const call = aCall();

interface Setting {
  /** Of `listen.tls`. */
  readonly more?: object;
  readonly args?: readonly string[];
  readonly limits?: object;
  readonly others?: object;
}

async function scene({ more = {}, args = [], limits = {}, others = {} }: Setting = {}) {
  const backend = await modernBackend(script);
  const made = tlsFolder();
  const config = {
    backends: { b: { url: backend.url }, ...others },
    listen: { tls: { ...made.tls, ...more } },
    limits,
  };
  const served = await serve(args, configFile(config));
  return { ...made, served, backend, url: served.url('b') };
}

describe('a listener with TLS', verifies('gateway:tls:serves'), () => {
  it('serves HTTPS alone, and says so in every address', async () => {
    const { served, url, ca } = await scene();
    expect(served.origin).toMatch(/^https:/);
    expect(served.program.stdout).not.toContain('http://');
    expect(await sendTls(url, agentFor(ca, false), call)).toMatchObject({ status: 200, body: { id: 1 } });
    await expect(fetch(url.replace('https:', 'http:'))).rejects.toThrow();
    expect((await sendTls(url, agentFor(ca, false), call)).status).toBe(200);
  });

  it('negotiates TLS 1.2 or later and HTTP/1.1, and nothing else', async () => {
    const { served, ca } = await scene();
    const asked = (options: object) => handshake(served.origin, { ca, ...options });
    expect(await asked({ ALPNProtocols: ['h2', 'http/1.1'] })).toBe('TLSv1.3 http/1.1');
    expect(await asked({ maxVersion: 'TLSv1.2' })).toBe('TLSv1.2 false');
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    expect(await asked(old)).toMatch(/ALERT_PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/);
    expect(await asked({ ALPNProtocols: ['h2'] })).toMatch(/NO_APPLICATION_PROTOCOL/);
  });

  it('refuses TLS 1.2 where the config wants 1.3', async () => {
    const { served, ca } = await scene({ more: { minVersion: 'TLSv1.3' } });
    expect(await handshake(served.origin, { ca, maxVersion: 'TLSv1.2' })).toMatch(/ALERT_PROTOCOL_VERSION/);
    expect(await handshake(served.origin, { ca })).toMatch(/^TLSv1.3/);
  });

  it('answers `bascule status` as before', async () => {
    const backend = await modernBackend(script);
    const { folder, tls } = tlsFolder();
    const config = { backends: { b: { url: backend.url } }, store: { dir: 'state' }, listen: { tls } };
    writeFileSync(join(folder, 'bascule.yaml'), JSON.stringify(config));
    const served = await serve([], { folder });
    await served.program.says(/^ {2}b {2}ready/m);
    const status = await run(['status'], { folder });
    expect(status.stdout).toMatch(/^ {2}b {2}ready/m);
  });

  it('is served by all workers', async () => {
    const { url, ca, another, install, served } = await scene({ args: ['--workers', '2'] });
    const serials = async () => {
      const answers = Array.from({ length: 8 }, () => sendTls(url, agentFor(ca, false), call));
      return new Set((await Promise.all(answers)).map(({ serial }) => serial));
    };
    const before = await serials();
    expect(before.size).toBe(1);
    install(another());
    const isNew = async () => {
      const now = await serials();
      return now.size === 1 && [...now].every((serial) => !before.has(serial));
    };
    await eventually(isNew, `all workers have the new certificate: ${served.program.obituary}`);
  });
});

/** For each certificate. */
const CALLS = 16;

describe('a certificate that is replaced', verifies('gateway:tls:reload'), () => {
  it('under load fails no call, and ends no connection and no stream', async () => {
    const older = await legacyBackend();
    const { url, ca, another, install, served } = await scene({ others: { older: { url: older.url } } });
    const kept = agentFor(ca, true);
    const failures: unknown[] = [];
    const serials = new Set<string>();
    let calls = 0;
    let isOver = false;
    const load = async (agent: typeof kept) => {
      while (!isOver) {
        try {
          const answer = await sendTls(url, agent, call);
          serials.add(answer.serial);
          if (answer.status !== 200) failures.push(answer);
        } catch (error) {
          failures.push(error);
        }
        calls += 1;
      }
    };
    const streams = await Promise.all(
      [kept, agentFor(ca, false)].map(async (agent) => {
        const { headers } = await sendTls(served.url('older'), agent, { body: initialize() });
        const session = { 'mcp-session-id': String(headers['mcp-session-id']), accept: 'text/event-stream' };
        return openStream(served.url('older'), agent, session);
      }),
    );
    await until(() => streams.every(({ isOpen }) => isOpen), 'the streams are open');
    const loads = [
      ...Array.from({ length: 4 }, () => load(kept)),
      ...Array.from({ length: 4 }, () => load(agentFor(ca, false))),
    ];
    for (let round = 1; round <= 4; round++) {
      install(another());
      // SIGHUP looks at once; the file is looked at every second.
      if (round % 2 === 0) served.program.kill('SIGHUP');
      const before = calls;
      // However slow the machine is, each certificate sees some load.
      const isUsed = () => serials.size > round && calls >= before + CALLS;
      await until(isUsed, `certificate ${round} is used: ${served.program.obituary}`);
    }
    isOver = true;
    await Promise.all(loads);
    expect(failures).toEqual([]);
    expect(calls).toBeGreaterThanOrEqual(4 * CALLS);
    expect(serials.size).toBe(5);
    expect(streams).toEqual(streams.map(() => expect.objectContaining({ isOpen: true, isEnded: false })));
  });

  it.each([
    [
      'a key of another one',
      (folder: string, files: ReturnType<ReturnType<typeof tlsFolder>['another']>) =>
        writeFileSync(join(folder, 'gateway.key'), readFileSync(files.key)),
      'is not that of the certificate',
    ],
    [
      'no PEM',
      (folder: string) => writeFileSync(join(folder, 'gateway.pem'), 'half of a cert'),
      'has no certificate in PEM',
    ],
  ])('by %s is not used: the log says why, and the old one stays in force', async (_name, spoil, why) => {
    const { url, ca, another, install, served, folder } = await scene();
    const agent = agentFor(ca, false);
    const before = (await sendTls(url, agent, call)).serial;
    spoil(folder, another());
    await until(() => served.program.stderr.includes(why), `it says ${why}: ${served.program.obituary}`);
    expect(served.program.stderr).toContain('the old one stays in force');
    expect((await sendTls(url, agent, call)).serial).toBe(before);
    install(another());
    await eventually(async () => (await sendTls(url, agent, call)).serial !== before, 'the good one is used');
  });
});

interface SecureStream {
  isOpen: boolean;
  isEnded: boolean;
}

/** The standalone stream of a legacy session. */
function openStream(url: string, agent: Agent, headers: Headers): SecureStream {
  const stream = { isOpen: false, isEnded: false };
  const ended = () => {
    stream.isEnded = true;
  };
  const asked = httpsRequest(url, { agent, headers }, (answer) => {
    stream.isOpen = answer.headers['content-type']?.startsWith('text/event-stream') === true;
    answer.resume().on('close', ended).on('error', ended);
  });
  asked.on('error', ended).end();
  onTestFinished(() => void asked.destroy());
  return stream;
}

describe('a certificate that cannot be used', verifies('gateway:tls:refused'), () => {
  const cases: readonly (readonly [string, (made: ReturnType<typeof tlsFolder>) => void, RegExp])[] = [
    ['is not there', ({ tls }) => execFileSync('rm', [tls.cert]), /there is no certificate \S+gateway\.pem/],
    [
      'has another key',
      ({ tls, another }) => writeFileSync(tls.key, readFileSync(another().key)),
      /the key \S+ is not that of the certificate/,
    ],
    ['is no PEM', ({ tls }) => writeFileSync(tls.cert, 'nothing'), /has no certificate in PEM/],
    [
      'has a key with a passphrase',
      ({ tls, another }) => {
        execFileSync('openssl', ['pkey', '-in', another().key, '-aes256', '-passout', 'pass:secret', '-out', tls.key], {
          stdio: 'ignore',
        });
      },
      /has a passphrase, which the gateway cannot enter.*openssl pkey/,
    ],
  ];
  it.each(cases)('because it %s is refused at the start and by `config check`', async (_name, spoil, why) => {
    const made = tlsFolder();
    spoil(made);
    const config = configFile({ backends: {}, listen: { port: 0, tls: made.tls } });
    const [served, checked] = await Promise.all([
      run(['serve'], config),
      run(['config', 'check', 'bascule.yaml'], config),
    ]);
    expect(served.exit.code).toBe(1);
    expect(served.stderr).toMatch(why);
    expect(served.stderr).toContain('cannot serve TLS');
    expect(`${checked.stdout}${checked.stderr}`).toMatch(why);
  });

  it('is not served silently where everybody can read its key', async () => {
    const made = tlsFolder();
    execFileSync('chmod', ['644', made.tls.key]);
    const served = await serve([], configFile({ backends: {}, listen: { tls: made.tls } }));
    await until(() => /every user of this machine can read the key/.test(served.program.stderr), 'it warns');
  });
});

describe('the limits of connections', verifies('gateway:tls:limits'), () => {
  it('hold before and after the handshake', async () => {
    const { url, ca, served } = await scene({ limits: { connectionsPerAddress: 4, headersMs: '1s' } });
    const { port } = new URL(served.origin);
    const mute = Array.from({ length: 4 }, () => connect(Number(port), '127.0.0.1').on('error', () => undefined));
    onTestFinished(() => {
      for (const socket of mute) socket.destroy();
    });
    const closed = Promise.all(mute.map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    await Promise.all(mute.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    const agent = agentFor(ca, false);
    expect((await sendTls(url, agent, call)).body.error.data.reason).toBe('too_many_connections');
    await closed;
    await eventually(async () => (await sendTls(url, agent, call)).status === 200, 'the places are free again');
    // Each is given back, also after a handshake.
    for (let n = 0; n < 12; n++) expect((await sendTls(url, agent, call)).status).toBe(200);
  });

  it('end a connection whose headers do not come', async () => {
    const { served, ca, url } = await scene({ limits: { headersMs: '1s' } });
    const { port } = new URL(served.origin);
    const slow = connectTls({ host: '127.0.0.1', port: Number(port), ca });
    onTestFinished(() => void slow.destroy());
    let heard = '';
    slow.on('data', (chunk) => {
      heard += chunk;
    });
    slow.write('POST /mcp HTTP/1.1\r\nHost: loc');
    await new Promise((resolve) => slow.once('close', resolve));
    expect(heard).toMatch(/^HTTP\/1\.1 408 /);
    expect((await sendTls(url, agentFor(ca, false), call)).status).toBe(200);
  });

  it('are not harmed by what is no TLS', async () => {
    const { served, ca, url } = await scene();
    const { port } = new URL(served.origin);
    for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x02\x00\x01', '\0'.repeat(2000)]) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.end(bytes, 'latin1');
      await new Promise((resolve) => socket.once('close', resolve));
    }
    expect((await sendTls(url, agentFor(ca, false), call)).status).toBe(200);
  });
});
