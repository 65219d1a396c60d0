/** What the search finds, and how many indexes are kept. */
import { expect, it } from 'vitest';
import { planOf } from '../../src/budget/plan.ts';
import { searches } from '../../src/budget/searches.ts';
import { type SearchedTool, ToolIndex } from '../../src/budget/tool-index.ts';
import type { ListedEntry } from '../../src/catalog/view.ts';
import { verifies } from '../requirements/verifies.ts';

const tool = (backend: string, own: string, description: string): SearchedTool => ({
  ...{ backend, own, name: `${backend}__${own}`, description },
  ...{ title: '', parameters: '' },
});

const tools = [
  tool('files', 'move_file', 'Moves or renames a file or a directory.'),
  tool('files', 'read_file', 'Reads the whole content of a file.'),
  tool('mail', 'send_message', 'Sends a message to a person.'),
  tool('chat', 'send_message', 'Posts a message to a channel.'),
  tool('db', 'createIndex', 'Creates an index of a collection.'),
];

async function find(query: string, most = 3): Promise<readonly (string | undefined)[]> {
  return (await ToolIndex.of(tools)).find(query, most).map((at) => tools[at]?.name);
}

it.each([
  { query: 'rename a folder', first: 'files__move_file', how: 'by another word of the same meaning' },
  { query: 'create index', first: 'db__createIndex', how: 'by the parts of a name' },
  { query: 'colection index', first: 'db__createIndex', how: 'with a spelling mistake' },
  { query: 'post in the chat', first: 'chat__send_message', how: 'by its backend' },
  { query: 'Files__Read_File', first: 'files__read_file', how: 'by its exact name' },
])('a tool is found $how', verifies('gateway:budget:find'), async ({ query, first }) => {
  expect((await find(query))[0]).toBe(first);
});

it('an exact name that several backends have finds these alone', verifies('gateway:budget:find'), async () => {
  expect(await find('send_message')).toEqual(['mail__send_message', 'chat__send_message']);
});

it.each(['', '   ', '\0\x01\x1b', 'the of and', 'guitar drop tuning', 'constructor', '__proto__'])(
  'nothing is found for %j',
  verifies('gateway:budget:find', 'gateway:budget:find-bounds'),
  async (query) => {
    expect(await find(query)).toEqual([]);
  },
);

const entry = (name: string): ListedEntry => {
  const bytes = Buffer.from(JSON.stringify({ name, description: `Does ${name}.`, inputSchema: { type: 'object' } }));
  return { backend: 'b', name, clientName: name, bytes };
};

it('a caller that fills the queue is refused, and others are not', verifies('gateway:budget:find-bounds'), async () => {
  const list = { version: 'queue', places: [entry('paint'), entry('wash')] };
  const { signal } = new AbortController();
  const done: string[] = [];
  const ask = async (caller: string) => {
    const found = await searches.find(caller, list, 'paint', 1, signal);
    if (found !== 'busy') done.push(caller);
    return found;
  };
  const greedy = Array.from({ length: 1_000 }, () => ask('greedy'));
  const modest = ask('modest');
  expect(await modest).toEqual([list.places[0]]);
  expect(done.indexOf('modest')).toBeLessThan(5);
  const answers = await Promise.all(greedy);
  expect(answers.filter((answer) => answer === 'busy').length).toBeGreaterThan(700);
  expect(answers.filter((answer) => answer !== 'busy').length).toBeGreaterThan(200);
});

it('the same tools are whole whatever the order of a backend’s list', verifies('gateway:budget:list'), () => {
  const places = ['d', 'b', 'a', 'c'].map((name) => entry(name.repeat(40)));
  const shown = (all: readonly ListedEntry[]) =>
    planOf(all, { tokens: 230 }, true).places.map(({ bytes }) => String(bytes));
  expect(shown([...places].reverse())).toEqual(shown(places));
});
