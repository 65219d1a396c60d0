/** Where clients may read another list, or another name, than the one that was filtered, they get nothing of it. */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { deciding, openDecided } from '../decisions/setup.ts';
import { type Json, send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import { fileIn, listTool, pinned, readTool } from '../pins/setup.ts';
import { openHouse, paths } from './setup.ts';

const good = JSON.stringify(readTool);
const evil = JSON.stringify({ ...readTool, name: 'delete_file' });

/** A backend whose list has these members. */
const listing = (members: string) => ({
  'tools/list': (turn: { readonly message: Json; json(text: string): void }) =>
    turn.json(
      `{"jsonrpc":"2.0","id":${JSON.stringify(turn.message.id)},` +
        `"result":{"resultType":"complete",${members},"ttlMs":0,"cacheScope":"private"}}`,
    ),
});

const guards = {
  rules: (script: Json) =>
    openHouse({
      script,
      more: {
        policy: {
          rules: [
            { id: 'r', effect: 'allow', what: ['call'], on: { tools: ['read_file'] } },
            { id: 'app', effect: 'allow', what: ['read'], on: { uris: ['ui://files/view'] } },
          ],
        },
      },
    }),
  pins: (script: Json) =>
    openHouse({ script, more: { pins: { file: fileIn(pinned('tool', [readTool, listTool])), mode: 'hold' } } }),
  'a decision point': (script: Json) =>
    openDecided(
      'authzen',
      deciding('authzen', (name) => name === 'read_file'),
      { script },
    ),
};

const asked = modern({ id: 7, method: 'tools/list' });

describe.each(Object.entries(guards))('guarded by %s', (_name, open) => {
  it.each([
    { name: 'a list that comes twice', members: `"tools":[${good}],"tools":[${evil}]` },
    { name: 'a list that comes twice, once with an escape', members: `"tools":[${good}],"to\\u006fls":[${evil}]` },
    { name: 'a list beside another with a capital letter', members: `"tools":[${good}],"Tools":[${evil}]` },
  ])('$name is refused', verifies('gateway:policy:filtered', 'gateway:pins:held'), async ({ members }) => {
    const house = await open(listing(members));
    const answer = await send(`${house.gateway.origin}${paths.single}`, asked);
    expect(answer.body).not.toContain('delete_file');
    expect(answer.json().error.data.reason).toBe('backend_invalid');
  });

  it.each([
    { name: 'two names', entry: evil.replace('"name"', '"name":"read_file","name"') },
    { name: 'a second name with a capital letter', entry: good.replace('{', '{"Name":"delete_file",') },
  ])('an entry with $name is left out', verifies('gateway:policy:filtered', 'gateway:pins:held'), async ({ entry }) => {
    const house = await open(listing(`"tools":[${entry},${good}]`));
    const answer = await send(`${house.gateway.origin}${paths.single}`, asked);
    expect(answer.body).not.toContain('delete_file');
    expect(answer.json().result.tools).toEqual([readTool]);
  });
});

it('without a guard a list passes as it is', verifies('gateway:policy:filtered'), async () => {
  const members = `"tools":[${good}],"tools":[${evil}]`;
  const house = await openHouse({ script: listing(members) });
  expect((await send(`${house.gateway.origin}${paths.single}`, asked)).body).toContain(members);
});
