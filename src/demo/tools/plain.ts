/** Tools that answer by themselves. */
import { setTimeout as pause } from 'node:timers/promises';
import { logLevelOf, logLevels } from '../call.ts';
import { icons, logo, tone } from '../data.ts';
import { integerOf, textOf } from '../message.ts';
import { type ListKind, noteUri } from '../world.ts';
import { failed, said, type ToolRow, toolsOf } from './tool.ts';

/** Long enough to be watched and cancelled, short enough to end by itself. */
const maxCount = 1000;
const maxPauseMs = 10_000;

const annotations = { readOnlyHint: true, openWorldHint: false };

function toggle(one: string, list: ListKind): ToolRow {
  return {
    name: `toggle_${one}`,
    title: `Toggle the extra ${one}`,
    description: `Adds the ${one} "extra" or takes it away again; clients learn that the list of ${list} changed`,
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    run: (_args, { world }) => {
      world.toggle(list);
      return said(`The extra ${one} is ${world.has(list) ? 'there' : 'gone'}`);
    },
  };
}

export const plainTools = toolsOf(annotations, [
  {
    name: 'echo',
    title: 'Echo',
    description: 'Says what you said, as text and as structured content',
    inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
    outputSchema: {
      type: 'object',
      properties: { message: { type: 'string' }, length: { type: 'integer', description: 'In UTF-16 units' } },
      required: ['message', 'length'],
    },
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    icons,
    run: (args) => {
      const message = textOf(args, 'message');
      const structuredContent = { message, length: message.length };
      return { ...said(JSON.stringify(structuredContent)), structuredContent };
    },
  },
  {
    name: 'count',
    title: 'Count',
    description: 'Counts to n, reports progress at each step, and stops when it is cancelled',
    inputSchema: {
      type: 'object',
      properties: {
        n: { type: 'integer', minimum: 1, maximum: maxCount },
        pauseMs: { type: 'integer', minimum: 0, maximum: maxPauseMs, default: 100, description: 'After each step' },
      },
      required: ['n'],
    },
    run: async (args, { signal, progress }) => {
      const n = integerOf(args, 'n', 1, maxCount);
      const pauseMs = integerOf(args, 'pauseMs', 0, maxPauseMs, 100);
      for (let step = 1; step <= n; step++) {
        progress(step, n, `${step} of ${n}`);
        // After the last step too: some clients lose progress that arrives together with the result.
        await pause(pauseMs, undefined, { signal });
      }
      return said(`Counted to ${n}`);
    },
  },
  {
    name: 'log',
    title: 'Log',
    description:
      'Sends log messages, at one level or at each of the eight; the client gets those at or above its own level',
    inputSchema: {
      type: 'object',
      properties: {
        message: { type: 'string', default: 'A log message' },
        level: { type: 'string', enum: logLevels },
      },
    },
    run: (args, call) => {
      const message = textOf(args, 'message', 'A log message');
      const levels = args.level === undefined ? logLevels : [logLevelOf(args.level)];
      const sent = levels.filter((level) => call.log(level, { message }));
      return said(`Sent ${sent.length} of ${levels.length}${sent.length === 0 ? '' : `: ${sent.join(', ')}`}`);
    },
  },
  {
    name: 'gallery',
    title: 'Gallery',
    description: 'One content block of each kind: text, picture, sound, link to a resource, embedded resource',
    run: (_args, { world }) => ({
      content: [
        { type: 'text', text: 'One of each kind:', annotations: { audience: ['user'], priority: 0.5 } },
        { type: 'image', data: logo, mimeType: 'image/png' },
        { type: 'audio', data: tone, mimeType: 'audio/wav' },
        { type: 'resource_link', uri: noteUri, name: 'note', title: 'The note', mimeType: 'text/plain' },
        { type: 'resource', resource: { uri: noteUri, mimeType: 'text/plain', text: world.note } },
      ],
    }),
  },
  {
    name: 'fail',
    title: 'Fail',
    description: 'Fails, in the way that a model can read',
    inputSchema: { type: 'object', properties: { reason: { type: 'string', default: 'You asked for it' } } },
    run: (args) => failed(textOf(args, 'reason', 'You asked for it')),
  },
]);

/** Tools that change what the server has, so that it has something to notify its clients of. */
export const changingTools = toolsOf(annotations, [
  {
    name: 'touch_note',
    title: 'Touch the note',
    description: `Writes a text into ${noteUri}; subscribers are notified`,
    inputSchema: { type: 'object', properties: { text: { type: 'string', default: 'Touched' } } },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    run: (args, { world }) => {
      world.write(textOf(args, 'text', 'Touched'));
      return said(`${noteUri} now says: ${world.note}`);
    },
  },
  toggle('tool', 'tools'),
  toggle('prompt', 'prompts'),
  toggle('resource', 'resources'),
  {
    extra: 'tools',
    name: 'extra',
    title: 'Extra',
    description: 'There only while toggle_tool has put it there',
    run: () => said('Here I am'),
  },
]);
