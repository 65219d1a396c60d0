import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LinkedList, type ListMember } from '../../src/exchange/linked-list.ts';

interface Named extends ListMember<Named> {
  readonly name: string;
}

function names(list: LinkedList<Named>): string {
  let all = '';
  for (let member = list.first; member !== undefined; member = member.next) all += member.name;
  return all;
}

function listOf(text: string) {
  const list = new LinkedList<Named>();
  const members = [...text].map((name): Named => ({ name }));
  for (const member of members) list.add(member);
  return { list, members };
}

describe('a linked list', () => {
  it('keeps the order of arrival', () => {
    expect(names(listOf('abc').list)).toBe('abc');
    expect(names(listOf('').list)).toBe('');
  });

  it.each([
    { at: 0, left: 'bc' },
    { at: 1, left: 'ac' },
    { at: 2, left: 'ab' },
  ])('removes the member at place $at, and clears its links', ({ at, left }) => {
    const { list, members } = listOf('abc');
    const member = members[at] as Named;
    expect(list.remove(member)).toBe(true);
    expect(names(list)).toBe(left);
    expect(member).toEqual({ name: member.name });
    expect(list.remove(member)).toBe(false);
    expect(names(list)).toBe(left);
  });

  it('can be filled again after its only member was removed', () => {
    const { list, members } = listOf('a');
    const member = members[0] as Named;
    list.remove(member);
    expect(list.first).toBeUndefined();
    list.add(member);
    expect(names(list)).toBe('a');
  });

  it('moves a member that is added again to the end', () => {
    const { list, members } = listOf('abc');
    list.add(members[0] as Named);
    expect(names(list)).toBe('bca');
  });

  it('takes a member out of the list that it was in', () => {
    const one = listOf('ab');
    const other = listOf('c');
    expect(other.list.remove(one.members[0] as Named)).toBe(false);
    other.list.add(one.members[0] as Named);
    expect([names(one.list), names(other.list)]).toEqual(['b', 'ca']);
  });

  it('releases every member when it is cleared', () => {
    const { list, members } = listOf('abc');
    list.clear();
    expect(list.first).toBeUndefined();
    for (const { previous, next, list: owner } of members)
      expect([previous, next, owner]).toEqual(Array(3).fill(undefined));
  });

  it('gives a copy of its members, which stays as it is while members come and go', () => {
    const { list, members } = listOf('abc');
    let seen = '';
    for (const member of list.members()) {
      seen += member.name;
      for (const other of members) list.remove(other);
      list.add({ name: 'd' });
    }
    expect([seen, names(list), list.size]).toEqual(['abc', 'ddd', 3]);
  });

  it('behaves like a Set: order, size, search and results of removal', () => {
    const step = fc.record({ act: fc.constantFrom('add', 'remove'), of: fc.nat(6) });
    const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { members } = listOf('abcdefg');
      const list = new LinkedList<Named>();
      const model = new Set<Named>();
      for (const { act, of } of steps) {
        const member = members[of] as Named;
        const wasIn = model.delete(member);
        if (act === 'remove') expect(list.remove(member)).toBe(wasIn);
        else {
          list.add(member);
          model.add(member);
        }
        expect(names(list)).toBe([...model].map(({ name }) => name).join(''));
        expect([list.size, list.first]).toEqual([model.size, [...model][0]]);
        expect(list.find(({ name }) => name > 'c')).toBe([...model].find(({ name }) => name > 'c'));
      }
    });
    fc.assert(property, { seed: 20_261_117 });
  });
});
