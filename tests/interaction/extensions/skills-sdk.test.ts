/** Skills of official servers, read by the official client, which checks names, manifests, sizes and digests. */
import { SkillsClient } from '@modelcontextprotocol/client/ext/skills';
import { expect, it } from 'vitest';
import { verifies } from '../../requirements/verifies.ts';
import { startGateway } from '../harness/gateway.ts';
import { connectV2 } from '../harness/sdk.ts';
import { files, openLibrary } from './library.ts';

const text = (value: string | Uint8Array | undefined) => Buffer.from(value ?? '').toString('latin1');

it.each([
  { endpoint: 'one', marks: ['one'], prefix: () => '' },
  { endpoint: undefined, marks: ['one', 'two'], prefix: (mark: string) => `${mark}/` },
])(
  'every file of every skill has the right digest (endpoint of $endpoint)',
  verifies('gateway:extensions:skills'),
  async ({ endpoint, marks, prefix }) => {
    const backends = { one: { url: (await openLibrary('one')).url }, two: { url: (await openLibrary('two')).url } };
    const gateway = await startGateway({ backends });
    const client = new SkillsClient(await connectV2(gateway.url(endpoint)));
    const { skills, invalid } = await client.list();
    expect(invalid).toEqual([]);
    expect(skills.map(({ uri }) => uri)).toEqual(
      marks.flatMap((mark) => [`skill://${prefix(mark)}deploy/SKILL.md`, `skill://${prefix(mark)}review/SKILL.md`]),
    );
    for (const mark of marks) {
      const root = `skill://${prefix(mark)}deploy`;
      const { skill: got } = await client.get(`${root}/SKILL.md`);
      expect(got).toMatchObject({ uri: `${root}/SKILL.md`, frontmatter: { name: 'deploy' } });
      for (const [path, content] of Object.entries(files(mark))) {
        if (!path.startsWith('deploy/')) continue;
        const read = await client.read(got, path.slice('deploy/'.length));
        expect(text(read.bytes)).toBe(text(typeof content === 'string' ? Buffer.from(content) : content));
      }
      const children = await client.readDirectory(root);
      expect(children.resources.map(({ uri }) => uri).sort()).toEqual([
        `${root}/SKILL.md`,
        `${root}/logo.bin`,
        `${root}/references`,
      ]);
    }
    await expect(client.get(`skill://${prefix('one')}nothing/SKILL.md`)).rejects.toMatchObject({ code: -32602 });
  },
);
