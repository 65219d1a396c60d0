/** The steps of docs/authorization-server.md, as they stand there. What is made up there is real here. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { DEADLINE_MS } from '../harness/client.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { freePort } from '../harness/ports.ts';
import { blocksOf, workplace } from '../harness/workplace.ts';
import { Browser } from './browser.ts';
import { callback, challenge, password } from './setting.ts';

const page = 'authorization-server.md';

it('leads from an empty folder to a connected client', {
  ...verifies('gateway:authserver:recipe', 'gateway:authserver:users'),
  timeout: 60_000,
}, async () => {
  const steps = 'From nothing';
  const backend = await modernBackend();
  const port = await freePort();
  const real = (text: string) =>
    text
      .replaceAll('http://127.0.0.1:3001', new URL(backend.url).origin)
      .replaceAll('127.0.0.1:8808', `127.0.0.1:${port}`);
  const { folder, run, serve } = workplace();
  const [config = ''] = blocksOf(page, steps, 'yaml');
  writeFileSync(join(folder, 'bascule.yaml'), `${real(config)}listen: { port: ${port} }\n`);
  let checked = 0;
  for (const line of blocksOf(page, steps, 'sh').join('').trim().split('\n')) {
    if (line.startsWith('bascule user add')) {
      // Where nobody sits, there is nobody to ask.
      await expect(run(`${line} < /dev/null`)).rejects.toThrow(/--password-stdin/);
      await run(`echo '${password}' | ${line} --password-stdin`);
    } else if (line === 'bascule user list') expect(await run(line)).toMatch(/^ada {2}added \d{4}-/);
    else if (line === 'bascule serve') await serve();
    else {
      const [, command = '', expected = ''] = /^(.*?)\s+# (.*)$/.exec(line) ?? [];
      await expect
        .poll(async () => (await run(real(command))).trim(), { timeout: DEADLINE_MS, message: line })
        .toBe(real(expected));
      checked += 1;
    }
  }
  expect(checked).toBe(3);

  // What every client of the last block does.
  const origin = `http://127.0.0.1:${port}`;
  const registered = await fetch(`${origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' }),
  });
  const { client_id } = (await registered.json()) as { client_id: string };
  const proof = challenge();
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri: callback,
    code_challenge: proof.challenge,
    code_challenge_method: 'S256',
  });
  const back = await new Browser(origin).agree(`${origin}/oauth/authorize?${query}`, { name: 'ada', password });
  expect(back.searchParams.get('code')).toBeTruthy();
});

it('has all of its settings in a config that is understood', verifies('gateway:authserver:recipe'), async () => {
  const { folder, run } = workplace();
  const [settings = ''] = blocksOf(page, 'The settings', 'yaml');
  writeFileSync(join(folder, 'bascule.yaml'), settings);
  expect(await run('bascule config check')).toContain('users.json');
});
