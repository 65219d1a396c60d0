/** What operators are shown of overrides: the tools of the console, and `config check`. */
import { expect, it } from 'vitest';
import { describeConfig } from '../../../src/config/describe.ts';
import { verifies } from '../../requirements/verifies.ts';
import { act, ask, open } from '../console/setup.ts';
import type { Json } from '../harness/client.ts';

const given = {
  files: {
    tools: {
      read: { name: 'look', description: 'Looks' },
      delete: { hide: true },
      gone: { arguments: { x: { fix: 'secret' } } },
    },
  },
};

it.each(['/mcp', '/alone/mcp'])(
  'the tools of the console at %s are those of clients, and tell what does not fit',
  verifies('gateway:overrides:misfit', 'gateway:console:tools'),
  async (endpoint) => {
    const gateway = await open({
      endpoints: [
        { path: '/mcp', backends: ['files', 'old'], overrides: given },
        { path: '/alone/mcp', backends: ['files'], overrides: given },
      ],
    });
    const prefix = endpoint === '/mcp' ? 'files__' : '';
    const { tools } = await ask(gateway, '/tools', { endpoint });
    const facts = tools.map(({ name, own, state, description, why }: Json) => ({ name, own, state, description, why }));
    expect(facts.filter(({ name }: Json) => name !== 'old__echo')).toEqual([
      { name: `${prefix}look`, own: 'read', state: 'shown', description: 'Looks', why: undefined },
      { name: 'delete', own: undefined, state: 'hidden', description: undefined, why: 'An override hides it' },
      {
        ...{ name: 'gone', own: undefined, state: 'hidden', description: undefined },
        why: 'it has an override, and the backend does not list it',
      },
    ]);
    const tried = await act(gateway, '/tools/try', { endpoint, tool: `${prefix}look`, arguments: {} });
    expect(tried.body).toMatchObject({ outcome: 'result' });
  },
);

it('`config check` tells what is changed, without values', verifies('gateway:overrides:config'), async () => {
  const { config } = await open({ endpoints: [{ path: '/mcp', backends: ['files'], overrides: given }] });
  const text = describeConfig(config);
  expect(text).toContain('override: tool read of files: named look, another description');
  expect(text).toContain('override: tool delete of files: hidden');
  expect(text).toContain('override: tool gone of files: x is fixed');
  expect(text).not.toContain('secret');
});
