/** What the clients of the run want, in plain spelling. The tricks come on top. */
import type { Chance } from '../interaction/faults/chance.ts';

export interface Operation {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** The member that `Mcp-Name` mirrors, for the methods that have it. */
  readonly named?: 'name' | 'uri';
}

const paths = [
  '/public/a',
  '/public/b/c',
  '/secret/a',
  '/public/../secret/a',
  '/other',
  'secret',
  '/public/..%2fsecret/a',
  'file://x/secret/a',
  'notes:secret/a',
  'notes://x/public/a',
];
const amounts = [0, 1, 100, 101, 1000, -5, 99.5];
const uris = [
  'file:///public/a',
  'file:///public/sub/b%20c',
  'https://api.example/v1/x',
  'file:///secret/a',
  'http://10.0.0.1/admin',
  'http://10.0.0.1:8080/admin',
  'memo://notes/1',
  'memo://secret/1',
  'notes:///public/a',
  'notes:///secret/a',
];

/** Harmless ones are likelier: a fifth of all messages has to get through. */
const tools = ['read_file', 'read_file', 'act', 'act', 'act', 'cel', 'cel', 'other', 'delete_file'];

const operations: readonly ((chance: Chance) => Operation)[] = [
  (chance) => call(chance),
  (chance) => call(chance),
  (chance) => call(chance),
  (chance) => ({ method: 'resources/read', params: { uri: chance.pick(uris) }, named: 'uri' }),
  (chance) => ({ method: 'resources/read', params: { uri: chance.pick(uris) }, named: 'uri' }),
  (chance) => ({ method: 'prompts/get', params: { name: chance.pick(['shown', 'hidden']) }, named: 'name' }),
  (chance) => ({
    method: 'completion/complete',
    params: {
      ref: { type: 'ref/prompt', name: chance.pick(['shown', 'hidden']) },
      argument: { name: 'a', value: 'b' },
    },
  }),
];

function call(chance: Chance): Operation {
  return {
    method: 'tools/call',
    params: { name: chance.pick(tools), arguments: someArguments(chance) },
    named: 'name',
  };
}

function someArguments(chance: Chance): Record<string, unknown> {
  return {
    force: chance.once(4),
    path: chance.pick(paths),
    amount: chance.pick(amounts),
    mode: chance.pick(['user', 'root']),
    kind: 'plain',
    // Twins here are data, and pass.
    labels: { Team: 'blue', team: 'green' },
  };
}

export function mcpOperation(chance: Chance): Operation {
  return chance.pick(operations)(chance);
}

export function rpcOperation(chance: Chance): Operation {
  const method = chance.pick(['balance', 'balance', 'pay', 'pay', 'wipe']);
  return { method, params: { amount: chance.pick(amounts), kind: 'plain' } };
}
