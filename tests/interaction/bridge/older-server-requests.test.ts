/**
 * Questions that are younger than the revision of the client: put in words that it has, or refused by a name that says
 * why.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import {
  allRevisions,
  behindLegacy,
  behindModern,
  call,
  Held,
  request,
  result,
  streaming,
  text,
} from '../harness/behind.ts';
import { type Json, until } from '../harness/client.ts';
import { connectLegacy } from '../harness/eras.ts';

const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };
const schema = (properties: object) => ({ type: 'object', properties });
const form = (properties: object = {}) => ({ message: '?', requestedSchema: schema(properties) });
const titled = {
  type: 'string',
  title: 'Colour',
  oneOf: [
    { const: 'r', title: 'Red' },
    { const: 'g', title: 'Green' },
  ],
  default: 'g',
};
const several = { type: 'array', items: { type: 'string', enum: ['r', 'g'] } };
const said = (content: unknown) => ({ messages: [{ role: 'user', content }], maxTokens: 1 });
const block = { type: 'text', text: 'x' };

interface Row {
  readonly name: string;
  readonly method: string;
  readonly params: object;
  /** Revisions by what they get: the same, other words, or a refusal that names this. */
  readonly same: readonly string[];
  readonly other?: { readonly revisions: readonly string[]; readonly params: object };
  readonly refused?: { readonly revisions: readonly string[]; readonly needs: string; readonly since: string };
}

const elicitation = { revisions: ['2025-03-26'], needs: 'elicitation', since: '2025-06-18' };
const rows: readonly Row[] = [
  {
    name: 'a form',
    method: 'elicitation/create',
    params: form(),
    same: ['2025-06-18', '2025-11-25'],
    refused: elicitation,
  },
  {
    name: 'a form elicitation with its mode',
    method: 'elicitation/create',
    params: { mode: 'form', ...form() },
    same: ['2025-11-25'],
    other: { revisions: ['2025-06-18'], params: form() },
  },
  {
    name: 'a form with titled choices',
    method: 'elicitation/create',
    params: form({ colour: titled, name: { type: 'string' } }),
    same: ['2025-11-25'],
    other: {
      revisions: ['2025-06-18'],
      params: form({
        colour: { type: 'string', title: 'Colour', default: 'g', enum: ['r', 'g'], enumNames: ['Red', 'Green'] },
        name: { type: 'string' },
      }),
    },
  },
  {
    name: 'a form with a choice of several',
    method: 'elicitation/create',
    params: form({ colours: several }),
    same: ['2025-11-25'],
    refused: { revisions: ['2025-06-18'], needs: 'a form with a choice of several values', since: '2025-11-25' },
  },
  {
    name: 'a URL elicitation',
    method: 'elicitation/create',
    params: { mode: 'url', message: '?', url: 'https://example.com/', elicitationId: 'e' },
    same: ['2025-11-25'],
    refused: {
      revisions: ['2025-06-18'],
      needs: 'elicitation of a visit to a page (`mode: url`)',
      since: '2025-11-25',
    },
  },
  {
    name: 'a completion with tools',
    method: 'sampling/createMessage',
    params: { ...said(block), tools: [{ name: 't', inputSchema: { type: 'object' } }] },
    same: ['2025-11-25'],
    refused: { revisions: ['2025-03-26', '2025-06-18'], needs: 'sampling with tools', since: '2025-11-25' },
  },
  {
    name: 'a completion of several blocks',
    method: 'sampling/createMessage',
    params: said([block, block]),
    same: ['2025-11-25'],
    refused: {
      revisions: ['2025-06-18'],
      needs: 'several blocks of content in one message of a sampling request',
      since: '2025-11-25',
    },
  },
  {
    name: 'a completion of a sound',
    method: 'sampling/createMessage',
    params: said({ type: 'audio', data: 'AA==', mimeType: 'audio/wav' }),
    same: ['2025-03-26', '2025-06-18', '2025-11-25'],
  },
  {
    name: 'a completion',
    method: 'sampling/createMessage',
    params: said(block),
    same: ['2025-03-26', '2025-06-18', '2025-11-25'],
  },
];

const settings = { limits: streaming, endpoint: allRevisions };

/** Both eras of backend ask the same client the same question. */
const asking = {
  legacy: async (revision: string, { method, params }: Row) => {
    const held = new Held();
    const { url, backend } = await behindLegacy({ 'tools/call': held.take }, settings);
    const client = await connectLegacy(url, { revision, capabilities: everything });
    const stream = await client.stream(call('c'));
    const turn = (await held.nth(1)).stream();
    turn.event(request('q', method, params));
    const answer = async (): Promise<Json> => {
      await until(() => backend.received.some(({ message }) => message?.id === 'q'), 'the question is answered');
      turn.event(result(turn.message.id, text('done'))).end();
      return backend.received.find(({ message }) => message?.id === 'q')?.message;
    };
    return { client, stream, answer };
  },
  modern: async (revision: string, { method, params }: Row) => {
    const { url } = await behindModern(
      {
        'tools/list': (turn) => turn.result({ resultType: 'complete', tools: [] }),
        'tools/call': (turn) => {
          const { inputResponses } = turn.message.params;
          if (inputResponses === undefined)
            turn.result({ resultType: 'input_required', inputRequests: { q: { method, params } } });
          else turn.result({ resultType: 'complete', ...text(JSON.stringify(inputResponses)) });
        },
      },
      settings,
    );
    const client = await connectLegacy(url, { revision, capabilities: everything });
    const stream = await client.stream(call('c'));
    return { client, stream, answer: () => stream.message(({ id }) => id === 'c') };
  },
};

describe.each(['legacy', 'modern'] as const)('a %s backend that requests', (era) => {
  for (const row of rows) {
    const put = [
      ...row.same.map((revision) => ({ revision, params: row.params })),
      ...(row.other?.revisions ?? []).map((revision) => ({ revision, params: row.other?.params })),
    ];
    for (const { revision, params } of put) {
      it(`${row.name} reaches a client of ${revision}`, verifies('gateway:bridge:older-content'), async () => {
        const { client, stream, answer } = await asking[era](revision, row);
        const ask = await stream.message(({ method }) => method === row.method);
        expect(ask.params).toEqual(params);
        await client.post(result(ask.id, { answered: true }));
        expect(JSON.stringify(await answer())).toContain('answered');
      });
    }
    for (const revision of row.refused?.revisions ?? []) {
      it(`${row.name} is refused for a client of ${revision}`, verifies('gateway:bridge:older-content'), async () => {
        const { stream, answer } = await asking[era](revision, row);
        const { error } = await answer();
        const { needs, since } = row.refused ?? {};
        expect(error.data).toEqual({ reason: 'revision_too_old', needs, since, revision });
        expect(error.message).toBe(
          `The backend needs ${needs}, which revisions before ${since} do not have; the client uses ${revision}`,
        );
        const code = row.method === 'elicitation/create' && era === 'legacy' ? -32602 : -32600;
        expect(error.code).toBe(code);
        expect(
          stream.events.flatMap((event) => (event.data ? [event.json()] : [])).filter(({ method }) => method),
        ).toEqual([]);
      });
    }
  }
});

describe('a backend gets the capabilities of a client', verifies('gateway:bridge:capabilities-narrowed'), () => {
  const offers = [
    { revision: '2025-11-25', declared: everything, offered: everything },
    { revision: '2025-06-18', declared: everything, offered: { elicitation: {}, sampling: {}, roots: {} } },
    {
      revision: '2025-06-18',
      declared: { elicitation: { url: {} }, experimental: { x: {} } },
      offered: { experimental: { x: {} } },
    },
    { revision: '2025-06-18', declared: { elicitation: {} }, offered: { elicitation: {} } },
    { revision: '2025-03-26', declared: everything, offered: { sampling: {}, roots: {} } },
  ];
  it.each(offers)(
    'of $revision that declares $declared, as far as the revision has them',
    async ({ revision, declared, offered }) => {
      const { url, backend } = await behindLegacy({}, settings);
      await connectLegacy(url, { revision, capabilities: declared });
      expect(backend.of('initialize').at(-1)?.message.params.capabilities).toEqual(offered);
    },
  );
});
