/** `prompts/list` and `prompts/get`. */
import { accepted, nameForm } from './asks.ts';
import { type Call, type Item, itemNamed, listed } from './call.ts';
import { languages, translate } from './data.ts';
import { BadValue, type JsonObject, objectOf, textOf } from './message.ts';
import { noteUri } from './world.ts';

interface Prompt extends Item {
  /** Suggestions by argument. */
  readonly completions?: { readonly [argument: string]: () => readonly string[] };
  readonly messages: (args: JsonObject, call: Call) => readonly JsonObject[] | Promise<readonly JsonObject[]>;
}

function user(text: string): JsonObject {
  return { role: 'user', content: { type: 'text', text } };
}

export const prompts: readonly Prompt[] = [
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
      const language = textOf(args, 'language', 'english');
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
    messages: (_args, { world }) => {
      const resource = { uri: noteUri, mimeType: 'text/plain', text: world.note };
      return [user('What do you think of this note?'), { role: 'user', content: { type: 'resource', resource } }];
    },
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
  {
    extra: 'prompts',
    definition: { name: 'extra', title: 'Extra', description: 'There only while toggle_prompt has put it there' },
    messages: () => [user('Say something unexpected.')],
  },
];

export function listPrompts(call: Call): JsonObject {
  return listed('prompts', 'name', prompts, call);
}

export async function getPrompt(call: Call): Promise<JsonObject> {
  const { definition, messages } = itemNamed(prompts, 'prompt', textOf(call.params, 'name'), call);
  return {
    description: definition.description,
    messages: await messages(objectOf(call.params, 'arguments', {}), call),
  };
}
