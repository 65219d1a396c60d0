/** What a backend does and a client wants, in pieces that rows of both tables are made of. */
import { isDeepStrictEqual } from 'node:util';
import { text } from '../harness/behind.ts';
import { type Deeds, type Question, refused, type Talk } from './actors.ts';
import type { Stage } from './stage.ts';
import { ofAsking, ofResult, refusal } from './words.ts';

const URL_ELICITATION_REQUIRED = -32042;

/** A round of questions, and what the client answers to each. */
export interface Round {
  readonly questions: Readonly<Record<string, Question>>;
  readonly answers: Readonly<Record<string, object>>;
}

export interface Scene {
  readonly deeds: Deeds;
  /** What was seen, in words. */
  run(stage: Stage): Promise<string>;
}

export const call = { name: 'tool', arguments: { n: 1 } };

/** A tool that does this. */
export function tool(deed: (talk: Talk) => object | Promise<object>, run: Scene['run']): Scene {
  return { deeds: { 'tools/call': deed }, run };
}

/** A method that is answered with this. */
export function returning(method: string, params: object, result: object): Scene {
  return {
    deeds: { [method]: () => result },
    run: async ({ client }) => ofResult(await client.request(method, params), result),
  };
}

/** A tool that puts questions, round by round, and returns the answers as text. */
export function asking(...rounds: readonly Round[]): Scene {
  const all = {
    questions: Object.assign({}, ...rounds.map(({ questions }) => questions)),
    answers: Object.assign({}, ...rounds.map(({ answers }) => answers)),
  };
  const answer = (question: Question) => {
    const name = Object.keys(all.questions).find((one) => isSame(all.questions[one], question));
    return all.answers[name ?? ''] ?? {};
  };
  return tool(
    async ({ ask }) => {
      let answers = {};
      for (const { questions } of rounds) answers = { ...answers, ...(await ask(questions)) };
      return text(JSON.stringify(answers));
    },
    async ({ client, backend: { put } }) =>
      ofAsking(await client.request('tools/call', call, { answer }), { put, answers: all.answers }),
  );
}

/** Questions differ in what they say to the person, or in their method. */
function isSame(one: Question, other: Question): boolean {
  return one.method === other.method && one.params?.message === other.params?.message;
}

export const form = (message: string): Question => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: { name: { type: 'string' } } } },
});
export const visit: Question = {
  method: 'elicitation/create',
  params: { mode: 'url', message: 'Please sign in', url: 'https://login.example/' },
};
export const sample: Question = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say something' } }], maxTokens: 10 },
};
export const roots: Question = { method: 'roots/list' };

export const accepted = (name: string) => ({ action: 'accept', content: { name } });
export const sampled = { role: 'assistant', content: { type: 'text', text: 'Something' }, model: 'm' };
export const places = { roots: [{ uri: 'file:///home', name: 'home' }] };
export const one = (question: Question, answer: object): Round => ({
  questions: { q: question },
  answers: { q: answer },
});

/**
 * A tool that cannot begin before a page was visited, and says so with an error. The client tries again when it was.
 */
export function visitFirst(): Scene {
  let visited = false;
  const elicitations = [{ ...visit.params, elicitationId: 'e' }];
  return tool(
    () => {
      if (!visited) {
        visited = true;
        throw refused(URL_ELICITATION_REQUIRED, 'Please sign in', { elicitations });
      }
      return text('signed in');
    },
    async ({ client }) => {
      const came = await client.request('tools/call', call, { answer: () => ({ action: 'accept' }) });
      if (came.error === undefined) return `${ofResult(came, text('signed in'))}, as a question`;
      const { code, data } = came.error;
      const told = code === URL_ELICITATION_REQUIRED && isDeepStrictEqual(data?.elicitations, elicitations);
      return told ? ofResult(await client.request('tools/call', call), text('signed in')) : refusal(came.error);
    },
  );
}
