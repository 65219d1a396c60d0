import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { overriddenEntry } from '../../../src/catalog/overrides/entry.ts';
import { OverriddenNames } from '../../../src/catalog/overrides/names.ts';
import type { EntryOverride } from '../../../src/catalog/overrides/settings.ts';
import { valueFault } from '../../../src/catalog/overrides/value-fault.ts';
import { verifies } from '../../requirements/verifies.ts';
import { awkwardJson, awkwardText, holds } from '../../wire/property.ts';

function shown(entry: string, override: Omit<EntryOverride, 'own'>): string {
  const made = overriddenEntry(Buffer.from(entry), { own: 'x', ...override });
  return 'misfit' in made ? made.misfit : Buffer.from(made.bytes).toString();
}

const fix = (argument: string, value: unknown) => ({ argument, value, isFixed: true });
const usual = (argument: string, value: unknown) => ({ argument, value, isFixed: false });

describe('an entry under overrides', verifies('gateway:overrides:lists'), () => {
  const cases: readonly { name: string; entry: string; override: Omit<EntryOverride, 'own'>; expect: string }[] = [
    {
      name: 'has the new description in the place of the old one',
      entry: '{"name":"x","description":"old" , "n":1.0,"name2":"\\u00e9"}',
      override: { description: 'new' },
      expect: '{"name":"x","description":"new","n":1.0,"name2":"\\u00e9"}',
    },
    {
      name: 'has a title that it did not have',
      entry: '{"name":"x"}',
      override: { title: 'T' },
      expect: '{"name":"x","title":"T"}',
    },
    {
      name: 'has no second description for readers that ignore case, or take the last',
      entry: '{"Description":"a","name":"x","description":"b","description":"c"}',
      override: { description: 'new' },
      expect: '{"name":"x","description":"new","description":"new"}',
    },
    {
      name: 'has a schema without the fixed argument',
      entry:
        '{"inputSchema":{"type":"object","properties":{"a":{"n":1e2},"b":{}},"required":["b","a"],"z":0},"name":"x"}',
      override: { arguments: [fix('b', 1)] },
      expect: '{"inputSchema":{"type":"object","properties":{"a":{"n":1e2}},"required":["a"],"z":0},"name":"x"}',
    },
    {
      name: 'requires nothing where only arguments with a value were required',
      entry: '{"inputSchema":{"properties":{"a":{"default":1,"k":true},"b":true},"required":["b","a"]}}',
      override: { arguments: [usual('a', 2), usual('b', 3)] },
      expect: '{"inputSchema":{"properties":{"a":{"default":2,"k":true},"b":true}}}',
    },
    {
      name: 'is the same where nothing of it changes',
      entry: '{ "name" : "x" }',
      override: { name: 'y' },
      expect: '{ "name" : "x" }',
    },
  ];
  it.each(cases)('$name', ({ entry, override, expect: expected }) => expect(shown(entry, override)).toBe(expected));

  it('is valid JSON, and differs in what the config changes alone', () => {
    const entry = fc.dictionary(awkwardText, awkwardJson, { maxKeys: 6 });
    holds(
      fc.property(entry, awkwardText, awkwardText, (given, title, description) => {
        const text = JSON.stringify({ ...given, name: 'x' });
        const made = JSON.parse(shown(text, { title, description }));
        const wanted = { ...JSON.parse(text), title, description };
        if (!Object.keys(given).some((key) => /^(title|description|annotations)$/i.test(key)))
          expect(made).toEqual(wanted);
        expect([made.title, made.description]).toEqual([title, description]);
      }),
    );
  });

  it('is found in the cache for each override by itself', () => {
    const bytes = Buffer.from('{"name":"x"}');
    const [one, two] = [
      { own: 'x', title: '1' },
      { own: 'x', title: '2' },
    ];
    expect(overriddenEntry(bytes, one)).toBe(overriddenEntry(bytes, one));
    expect(overriddenEntry(bytes, two)).not.toEqual(overriddenEntry(bytes, one));
  });
});

describe('an override that does not fit', verifies('gateway:overrides:misfit'), () => {
  const deep = `${'{"not":'.repeat(200)}{}${'}'.repeat(200)}`;
  const cases: readonly { name: string; schema: string; expect: string }[] = [
    { name: 'an argument that is not there', schema: '{"properties":{"b":{}}}', expect: 'it has no argument `a`' },
    {
      name: 'one that only its prototype has',
      schema: '{"properties":{"__proto__":{"a":{}}}}',
      expect: 'it has no argument `a`',
    },
    { name: 'no properties', schema: '{"type":"object"}', expect: 'its input schema has no `properties`' },
    { name: 'no object', schema: 'true', expect: 'its input schema is no object' },
    {
      name: 'two lists of properties',
      schema: '{"properties":{"a":{}},"properties":{}}',
      expect: 'its input schema is ambiguous: properties is repeated',
    },
    {
      name: 'a dependency',
      schema: '{"properties":{"a":{}},"dependentRequired":{"a":["b"]}}',
      expect: '`dependentRequired` of its input schema depends on `a`',
    },
    {
      name: 'a schema that is too deep to be searched',
      schema: `{"properties":{"a":{}},"allOf":[${deep}]}`,
      expect: '`allOf` of its input schema depends on `a`',
    },
    {
      name: 'another type',
      schema: '{"properties":{"a":{"type":["string","null"]}}}',
      expect: 'the value for `a` is not valid there: expected string or null',
    },
  ];
  it.each(cases)('is said to be so: $name', ({ schema, expect: expected }) => {
    expect(shown(`{"name":"x","inputSchema":${schema}}`, { arguments: [fix('a', 1)] })).toBe(expected);
  });

  const values: readonly { schema: unknown; value: unknown; fault: string | undefined }[] = [
    { schema: { const: { a: [1] } }, value: { a: [1] }, fault: undefined },
    { schema: { const: 1 }, value: 2, fault: 'it is not the value in `const`' },
    { schema: { exclusiveMaximum: 3 }, value: 3, fault: 'it is out of bounds' },
    { schema: { exclusiveMinimum: 3 }, value: 2, fault: 'it is out of bounds' },
    { schema: { minimum: 3, maximum: 3 }, value: 3, fault: undefined },
    { schema: { maxLength: 1 }, value: '😀', fault: undefined },
    { schema: { minLength: 2 }, value: 'a', fault: 'it is too short or too long' },
    { schema: { items: { type: 'integer' }, minItems: 1 }, value: [1, 1.5], fault: 'expected integer' },
    { schema: { required: ['a'] }, value: {}, fault: '`a` is missing' },
    {
      schema: { properties: { a: { enum: [1] } } },
      value: { a: 2 },
      fault: '`a`: it is not one of the values in `enum`',
    },
    { schema: { required: ['toString'] }, value: {}, fault: '`toString` is missing' },
    // A pattern of the backend's is never run.
    { schema: { pattern: '(a+)+$' }, value: `${'a'.repeat(40)}!`, fault: undefined },
    { schema: { $ref: '#/$defs/a' }, value: 1, fault: undefined },
    { schema: false, value: 1, fault: 'nothing is' },
  ];
  it.each(values)('$value for $schema: $fault', ({ schema, value, fault }) => {
    expect(valueFault(schema, value)).toBe(fault);
  });
});

describe('names', verifies('gateway:overrides:names'), () => {
  it('that clients use lead back to one name of the backend, and only these are listed', () => {
    const name = fc.constantFrom('a', 'A', 'b', 'B', 'c', 'constructor', 'ß', 'SS');
    const entry = fc.record({ own: name, name, hide: fc.boolean() }, { requiredKeys: ['own'] });
    const entries = fc.uniqueArray(entry, { maxLength: 4, selector: ({ own }) => own }).filter((all) => {
      const given = all.filter(({ hide }) => hide !== true).map((one) => one.name ?? one.own);
      return new Set(given).size === given.length;
    });
    holds(
      fc.property(entries, (all) => {
        const names = new OverriddenNames(all);
        const owns = ['a', 'A', 'b', 'B', 'c', 'constructor', 'ß', 'SS'];
        const listed = owns.flatMap((own) => {
          const shownAs = names.listed(own);
          return 'name' in shownAs ? [[shownAs.name, own] as const] : [];
        });
        expect(new Set(listed.map(([shownAs]) => shownAs)).size).toBe(listed.length);
        for (const [shownAs, own] of listed) expect(names.ownOf(shownAs)).toBe(own);
        const callable = owns.flatMap((called) => names.ownOf(called) ?? []);
        for (const { own, hide } of all) if (hide === true) expect(callable).not.toContain(own);
      }),
    );
  });
});
