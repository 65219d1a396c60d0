import { describe, expect, test } from 'vitest';
import { verifies } from '../requirements/verifies.ts';
import { complaintsAbout, configOf } from './loading.ts';

const backends = (overrides: string) =>
  `backends: { a: { command: npx, overrides: ${overrides} }, b: { command: npx } }\n`;
const endpoint = (overrides: string) => `endpoints: [{ path: /x, overrides: ${overrides} }]\n`;

describe('overrides', verifies('gateway:overrides:config'), () => {
  test('of a backend are in force at all its endpoints, and at no other', () => {
    const { endpoints } = configOf(backends('{ tools: { find: { name: lookup } } }'));
    const given = [{ backend: 'a', tools: [{ own: 'find', name: 'lookup' }], prompts: [] }];
    expect(endpoints.map(({ path, overrides }) => [path, overrides])).toEqual([
      ['/mcp', given],
      ['/servers/a/mcp', given],
      ['/servers/b/mcp', undefined],
    ]);
  });

  test('of an endpoint come before those of its backend, but hidden stays hidden', () => {
    const general =
      '{ tools: { f: { name: g, title: T, arguments: { x: { fix: 1 }, y: { fix: 2 } } }, h: { hide: true } } }';
    const own =
      '{ a: { tools: { f: { title: U, arguments: { y: { default: 3 } } }, h: { hide: false }, i: { hide: true } } } }';
    const [place] = configOf(backends(general) + endpoint(own)).endpoints;
    expect(place?.overrides).toEqual([
      {
        backend: 'a',
        tools: [
          {
            own: 'f',
            name: 'g',
            title: 'U',
            arguments: [
              { argument: 'x', value: 1, isFixed: true },
              { argument: 'y', value: 3, isFixed: false },
            ],
          },
          { own: 'h', hide: true },
          { own: 'i', hide: true },
        ],
        prompts: [],
      },
    ]);
  });

  test('have values of every kind, with variables, and numbers under any name', () => {
    const text = backends(
      '{ tools: { f: { arguments: { args: { fix: [1, "${X}"] }, env: { fix: { a: 1.5 } }, n: { fix: null } } } } }',
    );
    const [place] = configOf(text, undefined, { X: 'x' }).endpoints;
    expect(place?.overrides?.[0]?.tools[0]?.arguments?.map(({ value }) => value)).toEqual([[1, 'x'], { a: 1.5 }, null]);
  });

  test('are absent where nothing is changed', () => {
    expect(configOf('backends: { a: { command: npx } }').endpoints[0]).not.toHaveProperty('overrides');
  });

  test.each([
    {
      name: 'two tools with one name',
      given: '{ tools: { f: { name: x }, g: { name: x } } }',
      says: '`x` is the name of `g` already',
    },
    {
      name: 'the name of a tool that keeps it',
      given: '{ tools: { f: { name: g }, g: { title: x } } }',
      says: '`g` is the name of `g` already',
    },
    { name: 'a name that clients refuse', given: '{ tools: { f: { name: "a b" } } }', says: 'up to 128 letters' },
    {
      name: 'fix and default',
      given: '{ tools: { f: { arguments: { x: { fix: 1, default: 2 } } } } }',
      says: '`default`, which they can',
    },
    { name: 'neither', given: '{ tools: { f: { arguments: { x: {} } } } }', says: '`default`, which they can' },
    {
      name: 'a number that loses digits',
      given: '{ tools: { f: { arguments: { x: { fix: 12345678901234567890 } } } } }',
      says: 'write longer ones as text',
    },
    {
      name: 'an infinite number',
      given: '{ tools: { f: { arguments: { x: { fix: .inf } } } } }',
      says: 'write longer ones as text',
    },
    {
      name: 'arguments that differ in case',
      given: '{ tools: { f: { arguments: { x: { fix: 1 }, X: { fix: 1 } } } } }',
      says: 'only in case',
    },
    { name: 'arguments of a prompt', given: '{ prompts: { f: { arguments: {} } } }', says: 'unknown key `arguments`' },
    {
      name: 'a key that cannot be one',
      given: '{ tools: { __proto__: { hide: true } } }',
      says: "this can't be a key",
    },
    { name: 'an unknown key', given: '{ tools: { f: { hidden: true } } }', says: 'did you mean `hide`' },
  ])('with $name are refused', ({ given, says }) => {
    expect(complaintsAbout(backends(given))).toContain(says);
    expect(complaintsAbout(`backends: { a: { command: npx } }\n${endpoint(`{ a: ${given} }`)}`)).toContain(says);
  });

  test('that contradict each other only together are refused at the endpoint', () => {
    const text = backends('{ tools: { f: { name: x } } }') + endpoint('{ a: { tools: { g: { name: x } } } }');
    expect(complaintsAbout(text)).toContain('`x` is the name of `g` already');
  });

  test('of a backend that is not behind the endpoint, or of a service, are refused', () => {
    const text = `${backends('{}')}endpoints: [{ path: /x, backends: [b], overrides: { a: {} } }]\n`;
    expect(complaintsAbout(text)).toContain('`a` is no backend of this endpoint');
    const service = 'backends: { s: { protocol: json-rpc, url: "http://x.example/", overrides: {} } }';
    expect(complaintsAbout(service)).toContain('`overrides` applies only to MCP');
  });
});
