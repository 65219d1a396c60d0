/** Tools that need something from the client before they can answer. */
import { type AskRequest, accepted, form, nameField, nameForm, textsIn } from '../asks.ts';
import { languages, translate } from '../data.ts';
import { textOf } from '../message.ts';
import { said, toolsOf } from './tool.ts';

const maxSummaryTokens = 200;

const language = { type: 'string', title: 'Language', enum: languages };
const visitorForm = form('Whom may I greet?', { name: nameField, language }, ['name']);
const colourForm = form('Which colour do you like?', { colour: { type: 'string', enum: ['red', 'green', 'blue'] } });
const numberForm = form('Which number do you like?', { number: { type: 'integer', minimum: 0, maximum: 100 } });

const visit: AskRequest = {
  method: 'elicitation/create',
  params: {
    mode: 'url',
    message: 'Would you like to read the specification?',
    url: 'https://modelcontextprotocol.io/specification/2026-07-28',
  },
};

export const askingTools = toolsOf({ readOnlyHint: true }, [
  {
    name: 'ask_name',
    title: 'Ask for a name',
    description: 'Asks the user for a name and a language in a form, and greets them',
    since: '2025-06-18',
    run: async (_args, { ask }) => {
      const { visitor } = await ask({ visitor: visitorForm });
      const filled = accepted(visitor);
      if (filled === undefined)
        return said(`No greeting: the user chose to ${visitor.action === 'decline' ? 'decline' : 'cancel'}`);
      const hello = translate(textOf(filled, 'language', 'english'), 'hello') ?? 'Hello';
      return said(`${hello}, ${textOf(filled, 'name')}!`);
    },
  },
  {
    name: 'ask_url',
    title: 'Ask to open a page',
    description: 'Asks the user to open a web page, for clients that can do that',
    since: '2025-11-25',
    run: async (_args, { ask }) => {
      const { page } = await ask({ page: visit });
      return said(`The user ${page.action === 'accept' ? 'agreed to' : 'would rather not'} open the page`);
    },
  },
  {
    name: 'two_questions',
    title: 'Two questions',
    description: 'Asks the user for a colour and for a number, both at once',
    since: '2025-06-18',
    run: async (_args, { ask }) => {
      const answers = await ask({ colour: colourForm, number: numberForm });
      const colour = accepted(answers.colour)?.colour ?? 'no colour';
      const number = accepted(answers.number)?.number ?? 'no number';
      return said(`You like ${colour} and ${number}`);
    },
  },
  {
    name: 'interview',
    title: 'Interview',
    description: 'Asks the user for a name and then, by that name, for a wish: two rounds, one after the other',
    since: '2025-06-18',
    run: async (_args, { ask }) => {
      const { name: first } = await ask({ name: nameForm });
      const filled = accepted(first);
      if (filled === undefined) return said('No interview: the user gave no name');
      const name = textOf(filled, 'name');
      const { wish } = await ask({ wish: form(`What do you wish for, ${name}?`, { wish: { type: 'string' } }) });
      return said(`${name} wishes for ${accepted(wish)?.wish ?? 'nothing'}`);
    },
  },
  {
    name: 'summarise',
    title: 'Summarise',
    description: "Has a text summarised by the client's own model",
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    run: async (args, { ask }) => {
      const messages = [{ role: 'user', content: { type: 'text', text: textOf(args, 'text') } }];
      const systemPrompt = 'Summarise in one sentence what the user gives you.';
      const params = { messages, systemPrompt, maxTokens: maxSummaryTokens };
      const { summary } = await ask({ summary: { method: 'sampling/createMessage', params } });
      return said(textsIn(summary.content, 'text').join('\n'));
    },
  },
  {
    name: 'list_roots',
    title: 'List roots',
    description: 'Asks the client which directories it works in',
    run: async (_args, { ask }) => {
      const { roots } = await ask({ roots: { method: 'roots/list' } });
      const uris = textsIn(roots.roots, 'uri');
      return said(uris.length === 0 ? 'The client has no roots' : uris.join('\n'));
    },
  },
]);
