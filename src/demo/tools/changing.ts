/** Tools that change what the server has, so that it has something to notify its clients of. */
import { textOr } from '../read.ts';
import { type ListKind, noteUri } from '../world.ts';
import { noArguments, said, type Tool } from './tool.ts';

const touchNote: Tool = {
  definition: {
    name: 'touch_note',
    title: 'Touch the note',
    description: `Writes a text into ${noteUri}; subscribers are notified`,
    inputSchema: { type: 'object', properties: { text: { type: 'string', default: 'Touched' } } },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  },
  run: (args, { world }) => {
    world.write(textOr(args, 'text', 'Touched'));
    return said(`${noteUri} now says: ${world.note}`);
  },
};

function toggle(one: string, list: ListKind): Tool {
  return {
    definition: {
      name: `toggle_${one}`,
      title: `Toggle the extra ${one}`,
      description: `Adds the ${one} "extra" or takes it away again; clients learn that the list of ${list} changed`,
      inputSchema: noArguments,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    },
    run: (_args, { world }) => {
      world.toggle(list);
      return said(`The extra ${one} is ${world.has(list) ? 'there' : 'gone'}`);
    },
  };
}

export const changingTools: readonly Tool[] = [
  touchNote,
  toggle('tool', 'tools'),
  toggle('prompt', 'prompts'),
  toggle('resource', 'resources'),
];

export const extraTool: Tool = {
  definition: {
    name: 'extra',
    title: 'Extra',
    description: 'There only while toggle_tool has put it there',
    inputSchema: noArguments,
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  run: () => said('Here I am'),
};
