/** The pin file decides, and nothing but a person changes it. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send, until } from '../harness/client.ts';
import { connectLegacy, modern } from '../harness/eras.ts';
import { call, named, paths } from '../policy/setup.ts';
import { list, listTool, namesIn, openPinned, pinned, readTool } from './setup.ts';

const good = pinned('tool', [readTool, listTool]);
const unusable = [
  { name: 'a missing file', text: null, why: 'ENOENT' },
  { name: 'an empty file', text: '', why: 'line 1' },
  { name: 'a file that was cut', text: good.slice(0, good.length - 40), why: 'cannot be read' },
  { name: 'a description edited by hand', text: good.replace('Reads a file', 'Reads any file'), why: 'hash' },
  { name: 'a merge conflict', text: `${good}<<<<<<< HEAD\n`, why: 'is not a pin' },
  { name: 'the same pin twice', text: good + good.split('\n').slice(1).join('\n'), why: 'twice' },
];

it.each(unusable)(
  '$name holds everything, is said by name, and is not written again',
  verifies('gateway:pins:never-by-itself'),
  async ({ text, why }) => {
    const house = await openPinned({ text });
    for (const where of ['merged', 'single'] as const) {
      const url = `${house.gateway.origin}${paths[where]}`;
      expect(namesIn((await send(url, modern(list))).json())).toEqual([]);
      const { error } = (await send(url, modern(call(named(where, 'read_file'))))).json();
      expect(error).toMatchObject({ data: { reason: 'pinned_changed', classes: [] } });
      expect(error.message).toContain('the pin file of the gateway cannot be used');
    }
    expect(house.a.of('tools/call')).toEqual([]);
    const told = house.gateway.log.filter(({ text: line }) => line.includes('the pin file cannot be used'));
    expect(told).toMatchObject([{ level: 'warn', facts: { file: house.file, why: expect.stringContaining(why) } }]);
    expect(house.gateway.metrics.text('openmetrics')).toContain('bascule_pin_file_usable{mode="hold"} 0');
    if (text === null) expect(existsSync(house.file)).toBe(false);
    else expect(readFileSync(house.file, 'utf8')).toBe(text);
  },
);

it(
  'what was changed is held until the file has it, then sessions hear of it',
  verifies('gateway:pins:never-by-itself', 'gateway:pins:held'),
  async () => {
    const house = await openPinned();
    const other = { ...readTool, description: 'Reads any file' };
    house.tools = [other, listTool];
    const client = await connectLegacy(`${house.gateway.origin}${paths.merged}`);
    const heard = await client.listen();
    const names = async () => namesIn((await client.post(list)).json());
    for (let round = 0; round < 3; round++) expect(await names()).toEqual(['a__list_files', 'b__list_files']);
    expect(readFileSync(house.file, 'utf8')).toBe(good);
    writeFileSync(house.file, pinned('tool', [other, listTool]));
    house.reload({ pins: { file: house.file }, limits: { listGoodMs: 0, listUnsureMs: 0 } });
    await until(() => heard.events.some(({ data }) => data?.includes('list_changed')), 'the session heard of it');
    expect(await names()).toContain('a__read_file');
    house.reload({ limits: { listGoodMs: 0, listUnsureMs: 0 } });
    house.tools = [readTool];
    expect(await names()).toEqual(['a__read_file', 'b__read_file']);
  },
);

it('a reload switches pins on', verifies('gateway:pins:held'), async () => {
  const house = await openPinned({ more: { pins: undefined } });
  const { limits } = house.gateway.config;
  expect(limits.listGoodMs).toBe(0);
  const url = `${house.gateway.origin}${paths.single}`;
  house.tools = [{ ...readTool, description: 'x' }, listTool];
  expect(namesIn((await send(url, modern(list))).json())).toHaveLength(2);
  house.reload({ pins: { file: house.file }, limits: { listGoodMs: 0, listUnsureMs: 0 } });
  await until(() => house.gateway.config !== house.gateway.assembled.config, 'the new config is in force');
  expect(namesIn((await send(url, modern(list))).json())).toEqual(['list_files']);
});
