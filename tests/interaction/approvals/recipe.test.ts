/** The recipe of docs/approvals.md, as it stands there. What is made up there is real here. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { Browser } from '../authserver/browser.ts';
import { password } from '../authserver/setting.ts';
import { type Json, send, until } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { modernBackend } from '../harness/http-backend.ts';
import { freePort } from '../harness/ports.ts';
import { blocksOf, workplace } from '../harness/workplace.ts';
import { Approver } from './setup.ts';

const section = 'A recipe: approvals for a small team';

it('a small team approves what its agent deletes', {
  ...verifies('gateway:approval:recipe'),
  timeout: 60_000,
}, async () => {
  const backend = await modernBackend({
    'tools/call': (turn) => turn.result({ resultType: 'complete', content: [{ type: 'text', text: 'done' }] }),
  });
  const port = await freePort();
  const { folder, run, serve } = workplace();
  const [config = ''] = blocksOf('approvals.md', section, 'yaml');
  const real = config.replace('http://127.0.0.1:3001/mcp', backend.url);
  writeFileSync(join(folder, 'bascule.yaml'), `${real}listen: { port: ${port} }\n`);
  const [commands = ''] = blocksOf('approvals.md', section, 'sh');
  const [addUser = '', newKey = ''] = commands.trim().split('\n');
  await run(`echo '${password}' | ${addUser} --password-stdin`);
  const key = (await run(newKey)).trim();
  await serve();
  const origin = `http://127.0.0.1:${port}`;
  const call = async (name: string): Promise<Json> => {
    const { headers, body } = modern({ method: 'tools/call', params: { name, arguments: { path: '/a' } } });
    const answer = await send(`${origin}/mcp`, { headers: { ...headers, authorization: `Bearer ${key}` }, body });
    return answer.events.at(-1)?.json() ?? answer.json();
  };
  expect((await call('read')).result.content[0].text).toBe('done');
  const deleting = call('delete_file');
  const browser = new Browser(origin);
  const login = await browser.go(`${origin}/oauth/sign-in?return=%2Fconsole`);
  await browser.submit(login, { action: 'sign-in', name: 'ada', password });
  const ada = new Approver(origin, browser);
  while ((await ada.questions()).length === 0);
  expect(backend.of('tools/call')).toHaveLength(1);
  await ada.answerOnly('approve');
  expect((await deleting).result.content[0].text).toBe('done');
  const trail = () => readFileSync(join(folder, 'audit.jsonl'), 'utf8');
  await until(() => trail().includes('"step":"outcome"'), 'the outcome is in the trail');
  expect([...trail().matchAll(/"step":"(\w+)"/g)].map(([, step]) => step)).toEqual([
    ...['asked', 'answered', 'executed', 'outcome'],
  ]);
});
