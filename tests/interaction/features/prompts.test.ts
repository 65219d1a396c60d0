/** Prompts, listed and fetched: an official client and server of one era, with the gateway between them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { until } from '../harness/client.ts';
import { eras } from '../harness/eras.ts';
import { launchPair, type PlainPair, refusal } from '../harness/pairs.ts';
import { rpcError } from '../harness/sdk-servers.ts';
import { audio, embeddedText, everyPage, image, page, text } from './samples.ts';

const capabilities = { prompts: { listChanged: true } };

const prompts = [
  {
    name: 'review',
    title: 'Review',
    description: 'Reviews code',
    arguments: [{ name: 'code', description: 'The code', required: true }, { name: 'tone' }],
  },
  { name: 'plain', icons: [{ src: 'https://example.com/p.svg', mimeType: 'image/svg+xml' }] },
  { name: 'pictures', description: 'Shows things', _meta: { 'example.com/kind': 'media' } },
];

const said = (content: object, role = 'user') => ({ role, content });

/** Results by the name of the prompt that gives them. */
const results: Readonly<Record<string, object>> = {
  image: { messages: [said(image)] },
  audio: { messages: [said(audio)] },
  embedded: { messages: [said(embeddedText)] },
  talk: {
    description: 'A talk',
    messages: [said(text('Who?')), said(text('Me.'), 'assistant'), said(text('Why?')), said(text('So.'), 'assistant')],
  },
};

describe.each(eras)('prompts, %s', (era) => {
  let pair: PlainPair;
  beforeAll(async () => {
    pair = await launchPair(
      era,
      { capabilities },
      {
        'prompts/list': page('prompts', prompts, 2),
        'prompts/get': ({ name, arguments: given }) => {
          if (name === 'review' && given?.code === undefined)
            throw rpcError(-32602, 'code is missing', { argument: 'code' });
          if (name === 'nobody') throw rpcError(-32602, 'Unknown prompt: nobody');
          return results[name] ?? { messages: [said(text(`${name} ${JSON.stringify(given)}`))] };
        },
      },
    );
  });
  afterAll(() => pair.close());

  it('advertises the capabilities of the backend', verifies('prompts:capability:declared'), async () => {
    const client = await pair.connect();
    expect(client.getServerCapabilities()).toEqual(capabilities);
  });

  it(
    'lists prompts as the backend has them, page by page',
    verifies('prompts:list:basic', 'prompts:list:pagination'),
    async () => {
      const client = await pair.connect();
      pair.seen.length = 0;
      expect(await everyPage('prompts', (params) => client.listPrompts(params))).toEqual(prompts);
      expect(pair.seen.map(({ params }) => params?.cursor)).toEqual([undefined, 'from 2']);
    },
  );

  it('passes arguments on, and messages back', verifies('prompts:get:with-args'), async () => {
    const client = await pair.connect();
    const given = { code: 'a < b && "ü"\n', tone: '' };
    pair.seen.length = 0;
    const { messages } = await client.getPrompt({ name: 'review', arguments: given });
    expect(messages).toEqual([said(text(`review ${JSON.stringify(given)}`))]);
    expect(pair.seen).toMatchObject([{ method: 'prompts/get', params: { name: 'review', arguments: given } }]);
  });

  it('invents no arguments', verifies('prompts:get:no-args'), async () => {
    const client = await pair.connect();
    pair.seen.length = 0;
    const { messages } = await client.getPrompt({ name: 'plain' });
    expect(messages).toEqual([said(text('plain undefined'))]);
    expect(Object.keys(pair.seen[0]?.params)).not.toContain('arguments');
  });

  for (const { prompt, proves } of [
    { prompt: 'image', proves: 'prompts:get:content:image' },
    { prompt: 'audio', proves: 'prompts:get:content:audio' },
    { prompt: 'embedded', proves: 'prompts:get:content:embedded-resource' },
    { prompt: 'talk', proves: 'prompts:get:multi-message' },
  ] as const) {
    it(`passes on the messages of ${prompt} as they are`, verifies(proves), async () => {
      const client = await pair.connect();
      const { _meta, ...result } = await client.getPrompt({ name: prompt });
      expect(result).toEqual(results[prompt]);
    });
  }

  it("passes on the backend's refusal of arguments", verifies('prompts:get:missing-required-args'), async () => {
    const client = await pair.connect();
    expect(await refusal(client.getPrompt({ name: 'review', arguments: { tone: 'kind' } }))).toEqual({
      code: -32602,
      message: 'code is missing',
      data: { argument: 'code' },
    });
  });

  it('refuses a prompt that does not exist', verifies('prompts:get:unknown-name'), async () => {
    const client = await pair.connect();
    expect(await refusal(client.getPrompt({ name: 'nobody' }))).toEqual({
      code: -32602,
      message: 'Unknown prompt: nobody',
    });
  });

  it('announces a change of the list', verifies('prompts:list-changed'), async () => {
    let changes = 0;
    const client = await pair.connect({
      hears: {
        'notifications/prompts/list_changed': () => {
          changes += 1;
        },
      },
    });
    await pair.listen(client, { promptsListChanged: true });
    pair.announce.prompts();
    await until(() => changes === 1, 'the change is announced');
  });
});
