/** `prompts/list` and `prompts/get`. */
import { atLeast, type Revision } from '../wire/revisions.ts';
import { accepted } from './asks.ts';
import type { Call } from './call.ts';
import { BadValue } from './failure.ts';
import type { JsonObject } from './message.ts';
import { pageOf } from './pages.ts';
import { languages, translate } from './phrasebook.ts';
import { objectOr, textOf, textOr } from './read.ts';
import { nameForm } from './tools/asking.ts';
import { noteUri } from './world.ts';

export interface Prompt {
  readonly definition: JsonObject & { readonly name: string };
  readonly since?: Revision;
  /** Suggestions by argument. */
  readonly completions?: { readonly [argument: string]: () => readonly string[] };
  readonly messages: (args: JsonObject, call: Call) => readonly JsonObject[] | Promise<readonly JsonObject[]>;
}

/** More than there are. */
const pageSize = 100;

function user(text: string): JsonObject {
  return { role: 'user', content: { type: 'text', text } };
}

const prompts: readonly Prompt[] = [
  {
    definition: {
      name: 'greet',
      title: 'Greet somebody',
      description: 'Greets somebody in a language of your choice',
      arguments: [
        { name: 'name', description: 'Whom to greet', required: true },
        { name: 'language', description: 'In which language; English if you say nothing' },
      ],
    },
    completions: { language: () => languages },
    messages: (args) => {
      const language = textOr(args, 'language', 'english');
      const hello = translate(language, 'hello');
      if (hello === undefined) throw new BadValue(`"language" must be one of ${languages.join(', ')}`);
      return [user(`Greet ${textOf(args, 'name')} in ${language}. Begin with "${hello}".`)];
    },
  },
  {
    definition: {
      name: 'review_note',
      title: 'Review the note',
      description: 'Has the note reviewed, which comes with the prompt as an embedded resource',
    },
    messages: (_args, { world }) => [
      user('What do you think of this note?'),
      {
        role: 'user',
        content: { type: 'resource', resource: { uri: noteUri, mimeType: 'text/plain', text: world.note } },
      },
    ],
  },
  {
    since: '2025-06-18',
    definition: {
      name: 'introduce',
      title: 'Introduce yourself',
      description: 'Asks you for your name before it gives the prompt',
    },
    messages: async (_args, { ask }) => {
      const { name } = await ask({ name: nameForm });
      return [user(`My name is ${accepted(name)?.name ?? 'a secret'}. Please remember it.`)];
    },
  },
];

const extraPrompt: Prompt = {
  definition: { name: 'extra', title: 'Extra', description: 'There only while toggle_prompt has put it there' },
  messages: () => [user('Say something that nobody expects.')],
};

function offered({ revision, world }: Call): readonly Prompt[] {
  const known = prompts.filter(({ since }) => since === undefined || atLeast(revision, since));
  return world.has('prompts') ? [...known, extraPrompt] : known;
}

export function promptNamed(name: string, call: Call): Prompt {
  const prompt = offered(call).find(({ definition }) => definition.name === name);
  if (prompt === undefined) throw new BadValue(`Unknown prompt: ${name}`);
  return prompt;
}

export function listPrompts(call: Call): JsonObject {
  const definitions = offered(call).map((prompt) => prompt.definition);
  const { items, ...rest } = pageOf(definitions, ({ name }) => name, pageSize, call.params.cursor);
  return { prompts: items, ...rest };
}

export async function getPrompt(call: Call): Promise<JsonObject> {
  const prompt = promptNamed(textOf(call.params, 'name'), call);
  const messages = await prompt.messages(objectOr(call.params, 'arguments'), call);
  return { description: prompt.definition.description, messages };
}
