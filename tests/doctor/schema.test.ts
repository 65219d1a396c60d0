/** Which values are JSON Schemas. */
import { describe, expect, it } from 'vitest';
import { schemaFault } from '../../src/doctor/schema.ts';

const rows: readonly { readonly name: string; readonly schema: unknown; readonly fault?: string }[] = [
  { name: 'an empty schema', schema: {} },
  { name: 'true', schema: true },
  {
    name: 'properties, references and definitions',
    schema: { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: {} } },
  },
  { name: 'a list of types', schema: { type: ['string', 'null'] } },
  { name: 'a list of items, as in draft-07', schema: { items: [{ type: 'string' }] } },
  { name: 'an unknown keyword', schema: { 'x-mcp-header': 1 } },
  { name: 'null', schema: null, fault: '# is no schema' },
  { name: 'an unknown type', schema: { type: 'text' }, fault: '#/type' },
  {
    name: 'an unknown type far below',
    schema: { properties: { a: { items: { type: 1 } } } },
    fault: '#/properties/a/items/type',
  },
  { name: 'required names that are no list', schema: { required: 'a' }, fault: '#/required' },
  {
    name: 'required in a property, as a boolean',
    schema: { properties: { a: { required: true } } },
    fault: '#/properties/a/required',
  },
  { name: 'an empty choice', schema: { anyOf: [] }, fault: '#/anyOf' },
  { name: 'a pattern that is none', schema: { pattern: '(' }, fault: '#/pattern' },
  { name: 'a negative length', schema: { maxLength: -1 }, fault: '#/maxLength' },
];

describe('schemaFault', () => {
  for (const { name, schema, fault } of rows) {
    it(`${name}: ${fault ?? 'valid'}`, () => {
      if (fault === undefined) expect(schemaFault(schema)).toBeUndefined();
      else expect(schemaFault(schema)).toContain(fault);
    });
  }
});
