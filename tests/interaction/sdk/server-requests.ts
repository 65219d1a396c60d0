/** What a server asks of a client in the middle of a call. */
import { expect } from 'vitest';
import { text } from '../features/samples.ts';
import type { Feature } from './feature.ts';
import { form, question, steps, visit } from './world.ts';

const accept = (content: object) => ({ action: 'accept', content });
const paris = { role: 'assistant', content: text('Paris'), model: 'm-1' };
const roots = [{ uri: 'file:///work', name: 'work' }, { uri: 'file:///home' }];

export const asked: readonly Feature[] = [
  {
    name: 'a form',
    verifies: ['gateway:bridge:legacy-elicitation-on-modern', 'gateway:bridge:parked-call'],
    run: async ({ speaker }) => {
      speaker.answers = { 'elicitation/create': () => accept({ name: 'Ada' }) };
      expect((await speaker.call('greet')).content).toEqual([text('accept Ada')]);
      expect(speaker.asked).toMatchObject([{ method: 'elicitation/create', params: form('name') }]);
    },
  },
  {
    name: 'a form that is declined',
    verifies: ['gateway:bridge:legacy-elicitation-on-modern', 'gateway:bridge:parked-call'],
    run: async ({ speaker }) => {
      speaker.answers = { 'elicitation/create': () => ({ action: 'decline' }) };
      expect((await speaker.call('greet')).content).toEqual([text('decline undefined')]);
    },
  },
  {
    name: 'a form that is asked for beside the call',
    verifies: ['gateway:bridge:ask-attribution'],
    impossible: { v1: 'a modern server asks in its result, which is that of a call' },
    run: async ({ speaker }) => {
      speaker.answers = { 'elicitation/create': () => accept({ name: 'Ada' }) };
      expect((await speaker.call('greet-aside', { who: 'You' })).content).toEqual([text('accept Ada')]);
    },
  },
  {
    name: 'two calls that ask beside themselves, at once',
    verifies: ['gateway:bridge:ask-attribution'],
    impossible: { v1: 'a modern server asks in its result, which is that of a call' },
    run: async ({ speaker }) => {
      // That it asks there is seen when it does so for the first time.
      speaker.answers = { 'elicitation/create': () => accept({ name: 'Ada' }) };
      await speaker.call('greet-aside', { who: 'You' });
      speaker.asked.length = 0;
      const names = ['Ada', 'Alan'];
      let goOn: () => void = () => undefined;
      // No answer is sent before both requests arrived. A finished call sends no more.
      const bothAsked = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      speaker.answers = {
        'elicitation/create': async ({ message }) => {
          if (speaker.asked.length === names.length) goOn();
          await bothAsked;
          return accept({ name: message });
        },
      };
      const calls = names.map((who) => speaker.call('greet-aside', { who }).finally(goOn));
      const answers = (await Promise.all(calls)).map(({ content }) => content[0].text);
      expect(answers).toEqual(names.map((who) => `accept ${who}, your name?`));
    },
  },
  {
    name: 'an address to visit',
    verifies: ['gateway:bridge:url-elicitation'],
    run: async ({ speaker, version }) => {
      speaker.answers = { 'elicitation/create': () => ({ action: 'accept' }) };
      expect((await speaker.call('visit')).content).toEqual([text('accept')]);
      const id = version === 'v1' ? { elicitationId: expect.any(String) } : {};
      expect(speaker.asked).toEqual([
        { method: 'elicitation/create', params: expect.objectContaining({ mode: 'url', ...visit, ...id }) },
      ]);
      if (version === 'v2') expect(speaker.asked[0]?.params).not.toHaveProperty('elicitationId');
    },
  },
  {
    name: 'an address to visit before the call is made again',
    verifies: ['gateway:bridge:url-elicitation'],
    impossible: { v1: 'the modern era has no such error: a server asks instead' },
    run: async ({ speaker }) => {
      speaker.answers = { 'elicitation/create': () => ({ action: 'accept' }) };
      expect((await speaker.call('visit-first')).content).toEqual([text('welcome')]);
      expect(speaker.asked).toMatchObject([{ params: { mode: 'url', ...visit } }]);
    },
  },
  {
    name: 'sampling',
    verifies: ['gateway:bridge:sampling-roots'],
    run: async ({ speaker }) => {
      speaker.answers = { 'sampling/createMessage': () => paris };
      expect((await speaker.call('think')).content).toEqual([text('m-1: Paris')]);
      expect(speaker.asked).toMatchObject([{ method: 'sampling/createMessage', params: question }]);
    },
  },
  {
    name: 'roots',
    verifies: ['gateway:bridge:sampling-roots'],
    run: async ({ speaker }) => {
      speaker.answers = { 'roots/list': () => ({ roots }) };
      expect((await speaker.call('look')).content).toEqual([text('file:///work file:///home')]);
    },
  },
  {
    name: 'two questions at once',
    verifies: ['gateway:bridge:sampling-roots', 'gateway:bridge:parked-call', 'gateway:bridge:rounds-state'],
    run: async ({ speaker }) => {
      speaker.answers = {
        'elicitation/create': () => accept({ name: 'Ada' }),
        'sampling/createMessage': () => paris,
      };
      expect((await speaker.call('both')).content).toEqual([text('accept Ada, m-1: Paris')]);
      expect(speaker.asked.map(({ method }) => method).sort()).toEqual([
        'elicitation/create',
        'sampling/createMessage',
      ]);
    },
  },
  {
    name: 'three rounds',
    verifies: ['gateway:bridge:rounds-state', 'gateway:bridge:parked-call'],
    run: async ({ speaker }) => {
      speaker.answers = {
        'elicitation/create': ({ requestedSchema }) => {
          const [step = ''] = requestedSchema.required;
          return accept({ [step]: step.toUpperCase() });
        },
      };
      const said = steps.map((step) => `accept ${step.toUpperCase()}`).join(', ');
      expect((await speaker.call('steps')).content).toEqual([text(said)]);
      expect(speaker.asked.map(({ params }) => params.message)).toEqual(steps.map((step) => form(step).message));
    },
  },
];
