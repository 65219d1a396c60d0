/** What rules are found by: texts in names, and what conditions compare. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileCondition } from '../../src/config/policy-condition.ts';
import { Literals } from '../../src/policy/literals.ts';

const found = (texts: readonly string[], name: string) => {
  const into: string[] = [];
  new Literals(texts.map((text) => ({ text, item: text }))).find(name, into);
  return [...new Set(into)].sort();
};

describe('texts in a name', () => {
  test.each([
    { name: 'at its ends and within', texts: ['ab', 'c', 'cde'], of: 'abcde', expect: ['ab', 'c', 'cde'] },
    {
      name: 'that are parts of each other',
      texts: ['he', 'she', 'his', 'hers'],
      of: 'ushers',
      expect: ['he', 'hers', 'she'],
    },
    { name: 'that overlap themselves', texts: ['aa', 'aaa'], of: 'aaaa', expect: ['aa', 'aaa'] },
    { name: 'that it has not', texts: ['abd', 'bcx'], of: 'abcde', expect: [] },
    { name: 'where there are none', texts: [], of: 'abc', expect: [] },
  ])('$name', ({ texts, of, expect: wanted }) => {
    expect(found(texts, of)).toEqual(wanted);
  });

  test('are those that it contains, whatever they are', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(
        fc.array(text, { maxLength: 12 }),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c') }),
        (texts, name) => {
          expect(found(texts, name)).toEqual([...new Set(texts.filter((one) => name.includes(one)))].sort());
        },
      ),
    );
  });
});

describe('what a condition reads', () => {
  test.each([
    { text: "name == 'x'", needs: [{ fact: 'name', value: 'x' }] },
    { text: "'x' == name && arguments.n > 1", needs: [{ fact: 'name', value: 'x' }] },
    {
      text: "arguments.n > 1 && (backend == 'b' && principal.key == 'ci')",
      needs: [
        { fact: 'backend', value: 'b' },
        { fact: 'principal', member: 'key', value: 'ci' },
      ],
    },
    { text: "name == 'x' || name == 'y'", needs: [] },
    { text: "!(name == 'x')", needs: [] },
    { text: "name != 'x'", needs: [] },
    { text: "(name == 'x') == false", needs: [] },
    { text: "principal.claims.level == 'x'", needs: [] },
    { text: "arguments.name == 'x'", needs: [] },
    { text: "principal.groups.exists(name, name == 'x')", needs: [] },
    { text: "true ? name == 'x' : true", needs: [] },
  ])('$text', ({ text, needs }) => {
    const condition = compileCondition(text);
    if ('problem' in condition) throw new Error(condition.problem);
    expect(condition.needs).toEqual(needs);
  });
});
