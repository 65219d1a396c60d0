import { describe, expect, it } from 'vitest';
import { catalogue, groups } from './catalogue.ts';
import { document, specUrl } from './document.ts';
import { familyOf, settledFamilies } from './families.ts';
import { diverges, verifies } from './verifies.ts';

const entries = Object.entries(catalogue).map(([id, requirement]) => ({ id, requirement }));

describe('the catalogue', () => {
  it('has no id twice', () => {
    const rows = Object.values(groups).reduce((sum, group) => sum + Object.keys(group).length, 0);
    expect(entries).toHaveLength(rows);
  });

  it('has ids that are lower-case words in a path', () => {
    expect(entries.map(({ id }) => id).filter((id) => !/^[a-z]+(-[a-z]+)*(:[a-z0-9_-]+)+$/.test(id))).toEqual([]);
  });

  it('has whole sentences, no two alike', () => {
    const sentences = entries.map(({ requirement }) => requirement.behaviour);
    expect(sentences.filter((sentence) => !/^[^a-z].*\.$/.test(sentence))).toEqual([]);
    const where = entries.map(({ id, requirement }) => `${familyOf(id)} ${requirement.behaviour}`);
    expect(where.filter((sentence, index) => where.indexOf(sentence) !== index)).toEqual([]);
  });

  it('gives a reason for each row that is not held', () => {
    const empty = entries.filter(({ requirement: { status } }) => 'reason' in status && !status.reason.endsWith('.'));
    expect(empty).toEqual([]);
  });

  it('has every family that must be settled', () => {
    const families = new Set(entries.map(({ id }) => familyOf(id)));
    expect([...settledFamilies].filter((family) => !families.has(family))).toEqual([]);
  });
});

describe('a family', () => {
  it.each([
    { id: 'ping:client-to-server', family: 'ping' },
    { id: 'hosting:http:modern:no-session-id', family: 'hosting:http' },
    { id: 'gateway:legacy:response-202', family: 'gateway:legacy' },
    { id: 'client-transport:http:404-surfaces', family: 'client-transport' },
  ])('of $id is $family', ({ id, family }) => {
    expect(familyOf(id)).toBe(family);
  });
});

describe('a declaration', () => {
  it('carries its ids to the report', () => {
    expect(verifies('lifecycle:ping', 'ping:client-to-server')).toEqual({
      meta: { verifies: ['lifecycle:ping', 'ping:client-to-server'] },
    });
    expect(diverges('protocol:progress:monotonic')).toEqual({ meta: { diverges: ['protocol:progress:monotonic'] } });
  });

  it('does not compile with an id that is not in the catalogue', () => {
    // @ts-expect-error: no such requirement
    verifies('lifecycle:pong');
  });
});

describe('the generated page', () => {
  const page = document(catalogue);

  it('has every requirement once', () => {
    const lines = page.split('\n');
    const wrong = entries.filter(({ id }) => lines.filter((line) => line.includes(`\`${id}\``)).length !== 1);
    expect(wrong.map(({ id }) => id)).toEqual([]);
  });

  it('links to the specification where it has the requirement', () => {
    expect(specUrl('2025-11-25/basic/lifecycle#operation')).toBe(
      'https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#operation',
    );
    expect(specUrl('sdk')).toBeUndefined();
    expect(specUrl('gateway')).toBeUndefined();
  });
});
