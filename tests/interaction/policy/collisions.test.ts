/**
 * What several backends have is told by their names, and nobody is told of a backend of which they are shown nothing.
 */
import { describe, expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { send } from '../harness/client.ts';
import { modern } from '../harness/eras.ts';
import type { Script } from '../harness/http-backend.ts';
import { call, openHouse, paths } from './setup.ts';

const resource = { uri: 'file:///x', name: 'x' };
const script: Script = {
  'server/discover': (turn) =>
    turn.result({
      ...{ resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {}, resources: {} } },
      ...{ ttlMs: 60_000, cacheScope: 'public' },
    }),
  'resources/list': (turn) =>
    turn.result({ resultType: 'complete', resources: [resource], ttlMs: 60_000, cacheScope: 'public' }),
  'resources/templates/list': (turn) =>
    turn.result({ resultType: 'complete', resourceTemplates: [], ttlMs: 60_000, cacheScope: 'public' }),
  'resources/read': (turn) => turn.result({ resultType: 'complete', contents: [], ttlMs: 0, cacheScope: 'private' }),
};
const allowing = (...backends: string[]) => ({
  policy: { rules: [{ id: 'some', effect: 'allow', what: ['call', 'read'], on: { backends } }] },
});

describe('a name that two backends have, where nothing is renamed', verifies('gateway:policy:hide'), () => {
  const ask = async (more: object) => {
    const house = await openHouse({ script, endpoint: { names: 'never' }, more: { ...more } });
    return (await send(`${house.gateway.origin}${paths.merged}`, modern(call('read_file')))).json().error;
  };

  it('names both to a principal that sees both', async () => {
    expect(await ask(allowing('a', 'b'))).toMatchObject({ data: { reason: 'name_collision', backends: ['a', 'b'] } });
    expect(await ask({})).toMatchObject({ data: { reason: 'name_collision', backends: ['a', 'b'] } });
  });

  it('names one to a principal that sees one', async () => {
    expect(await ask(allowing('b'))).toMatchObject({ data: { reason: 'name_collision', backends: ['b'] } });
  });

  it('is unknown to a principal that sees neither', async () => {
    const none = { policy: { rules: [] } };
    expect(await ask(none)).toEqual({
      ...{ code: -32602, message: 'Unknown tool: read_file' },
      data: { reason: 'invalid_params', name: 'read_file' },
    });
  });
});

describe('a resource that two backends have', verifies('gateway:policy:hide'), () => {
  const read = async (more: object) => {
    const house = await openHouse({ script, more: { ...more } });
    const message = modern({ method: 'resources/read', params: { uri: resource.uri } });
    const answer = (await send(`${house.gateway.origin}${paths.merged}`, message)).json();
    return { answer, reads: { a: house.a.of('resources/read').length, b: house.b.of('resources/read').length } };
  };

  it('is ambiguous for a principal that may read both', async () => {
    const { answer, reads } = await read(allowing('a', 'b'));
    expect(answer.error.data).toMatchObject({ reason: 'resource_ambiguous', uri: resource.uri });
    expect(answer.error.data.uris).toHaveLength(2);
    expect(reads).toEqual({ a: 0, b: 0 });
  });

  it('is that of the one backend that the principal may read', async () => {
    const { answer, reads } = await read(allowing('b'));
    expect(answer.result).toBeDefined();
    expect(reads).toEqual({ a: 0, b: 1 });
  });

  it('is unknown to a principal that may read neither', async () => {
    const { answer, reads } = await read({ policy: { rules: [] } });
    expect(answer.error.data).toEqual({ reason: 'resource_not_found', uri: resource.uri });
    expect(reads).toEqual({ a: 0, b: 0 });
  });
});
