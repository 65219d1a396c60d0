/** Tools that need something from the client before they can answer. */
import { accepted, form, roots, rootUris, sample, sampledText, visit } from '../asks.ts';
import { languages, translate } from '../phrasebook.ts';
import { textOf, textOr } from '../read.ts';
import { noArguments, said, type Tool } from './tool.ts';

const maxSummaryTokens = 200;

export const nameForm = form('What is your name?', { name: { type: 'string', title: 'Name', minLength: 1 } }, ['name']);

const askName: Tool = {
  since: '2025-06-18',
  definition: {
    name: 'ask_name',
    title: 'Ask for a name',
    description: 'Asks the user for a name and a language in a form, and greets them',
    inputSchema: noArguments,
    annotations: { readOnlyHint: true },
  },
  run: async (_args, { ask }) => {
    const { visitor } = await ask({
      visitor: form(
        'Whom may I greet?',
        {
          name: { type: 'string', title: 'Name', minLength: 1 },
          language: { type: 'string', title: 'Language', enum: languages },
        },
        ['name'],
      ),
    });
    const filled = accepted(visitor);
    if (filled === undefined)
      return said(`No greeting: the user chose to ${visitor.action === 'decline' ? 'decline' : 'cancel'}`);
    const hello = translate(textOr(filled, 'language', 'english'), 'hello') ?? 'Hello';
    return said(`${hello}, ${textOf(filled, 'name')}!`);
  },
};

const askUrl: Tool = {
  since: '2025-11-25',
  definition: {
    name: 'ask_url',
    title: 'Ask to open a page',
    description: 'Asks the user to open a web page, for clients that can do that',
    inputSchema: noArguments,
    annotations: { readOnlyHint: true },
  },
  run: async (_args, { ask }) => {
    const { page } = await ask({
      page: visit(
        'Would you like to read the specification?',
        'https://modelcontextprotocol.io/specification/2026-07-28',
      ),
    });
    return said(
      page.action === 'accept' ? 'The user agreed to open the page' : 'The user would rather not open the page',
    );
  },
};

const twoQuestions: Tool = {
  since: '2025-06-18',
  definition: {
    name: 'two_questions',
    title: 'Two questions',
    description: 'Asks the user for a colour and for a number, both at once',
    inputSchema: noArguments,
    annotations: { readOnlyHint: true },
  },
  run: async (_args, { ask }) => {
    const answers = await ask({
      colour: form('Which colour do you like?', { colour: { type: 'string', enum: ['red', 'green', 'blue'] } }, [
        'colour',
      ]),
      number: form('Which number do you like?', { number: { type: 'integer', minimum: 0, maximum: 100 } }, ['number']),
    });
    const colour = accepted(answers.colour)?.colour ?? 'no colour';
    const number = accepted(answers.number)?.number ?? 'no number';
    return said(`You like ${colour} and ${number}`);
  },
};

const interview: Tool = {
  since: '2025-06-18',
  definition: {
    name: 'interview',
    title: 'Interview',
    description: 'Asks the user for a name and then, by that name, for a wish: two rounds, one after the other',
    inputSchema: noArguments,
    annotations: { readOnlyHint: true },
  },
  run: async (_args, { ask }) => {
    const { name: first } = await ask({ name: nameForm });
    const filled = accepted(first);
    if (filled === undefined) return said('No interview: the user gave no name');
    const name = textOf(filled, 'name');
    const { wish: second } = await ask({
      wish: form(`What do you wish for, ${name}?`, { wish: { type: 'string' } }, ['wish']),
    });
    return said(`${name} wishes for ${accepted(second)?.wish ?? 'nothing'}`);
  },
};

const summarise: Tool = {
  definition: {
    name: 'summarise',
    title: 'Summarise',
    description: "Has a text summarised by the client's own model",
    inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    annotations: { readOnlyHint: true },
  },
  run: async (args, { ask }) => {
    const { summary } = await ask({
      summary: sample('Summarise in one sentence what the user gives you.', textOf(args, 'text'), maxSummaryTokens),
    });
    return said(sampledText(summary));
  },
};

const listRoots: Tool = {
  definition: {
    name: 'list_roots',
    title: 'List roots',
    description: 'Asks the client which directories it works in',
    inputSchema: noArguments,
    annotations: { readOnlyHint: true },
  },
  run: async (_args, { ask }) => {
    const answers = await ask({ roots });
    const uris = rootUris(answers.roots);
    return said(uris.length === 0 ? 'The client has no roots' : uris.join('\n'));
  },
};

export const askingTools: readonly Tool[] = [askName, askUrl, twoQuestions, interview, summarise, listRoots];
