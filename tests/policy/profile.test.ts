import { describe, expect, test } from 'vitest';
import { buildFullProfile } from '../../src/config/policy-profile.ts';
import { denyAsk, type Form, hardDenial } from '../../src/policy/profile.ts';

const strict = buildFullProfile({
  ...{ revisions: ['2025-03-26', '2025-11-25'], batches: 'allow', accept: 'strict', elicitation: 'flat' },
  ...{ toolNames: 'plain', bodyBytes: 100, jsonDepth: 10 },
});
const lenient = buildFullProfile();

const form = (schema: unknown): Form => ({ form: 'elicitation', params: { message: 'm', requestedSchema: schema } });
const object = (property: unknown) => form({ type: 'object', properties: { a: property } });

const cases: readonly {
  readonly name: string;
  readonly given: Form;
  readonly strict?: string;
  readonly lenient?: string;
}[] = [
  {
    name: 'a batch of the revision that has them',
    given: { form: 'batch', revision: '2025-03-26' },
    lenient: 'unsupported_mcp_batch',
  },
  {
    name: 'a batch of another',
    given: { form: 'batch', revision: '2025-11-25' },
    strict: 'unsupported_mcp_batch',
    lenient: 'unsupported_mcp_batch',
  },
  {
    name: 'a batch of nobody knows which',
    given: { form: 'batch', revision: undefined },
    strict: 'unsupported_mcp_batch',
    lenient: 'unsupported_mcp_batch',
  },
  { name: 'a revision outside', given: { form: 'revision', revision: '2026-07-28' }, strict: 'unsupported_version' },
  {
    name: 'a revision that there is not',
    given: { form: 'revision', revision: 'x' },
    strict: 'unsupported_version',
    lenient: 'unsupported_version',
  },
  { name: 'one media type', given: { form: 'accept', json: true, events: false }, strict: 'not_acceptable' },
  { name: 'both media types', given: { form: 'accept', json: true, events: true } },
  { name: 'a body at the limit', given: { form: 'body', bytes: 100 } },
  { name: 'a body over it', given: { form: 'body', bytes: 101 }, strict: 'body_too_large' },
  { name: 'nesting over the limit', given: { form: 'depth', depth: 11 }, strict: 'too_deep' },
  { name: 'a plain name', given: { form: 'tool', name: 'a.B-c_1' } },
  { name: 'a name with a space', given: { form: 'tool', name: 'a b' }, strict: 'invalid_params' },
  { name: 'an endless name', given: { form: 'tool', name: 'a'.repeat(129) }, strict: 'invalid_params' },
  { name: 'a form of primitives', given: object({ type: 'string', enum: ['x'] }) },
  { name: 'a form with a choice of several', given: object({ type: 'array', items: { type: 'string', enum: ['x'] } }) },
  { name: 'a form in a form', given: object({ type: 'object', properties: {} }), strict: 'invalid_params' },
  { name: 'a form with a list', given: object({ type: 'array', items: { type: 'object' } }), strict: 'invalid_params' },
  { name: 'a form with a reference', given: object({ $ref: '#/x' }), strict: 'invalid_params' },
  { name: 'no form at all', given: form('x'), strict: 'invalid_params' },
  { name: 'a page to visit', given: { form: 'elicitation', params: { mode: 'url', url: 'https://x' } } },
];

describe('a hard denial', () => {
  for (const { name, given, strict: whenStrict, lenient: whenLenient } of cases) {
    test(`${name}: ${whenStrict ?? 'none'} where strict, ${whenLenient ?? 'none'} where not`, () => {
      expect(hardDenial(strict, given)?.reason).toBe(whenStrict);
      expect(hardDenial(lenient, given)?.reason).toBe(whenLenient);
    });
  }

  test('of a revision names those that there are', () => {
    expect(hardDenial(strict, { form: 'revision', revision: '2026-07-28' })?.data).toEqual({
      supported: ['2025-03-26', '2025-11-25'],
      requested: '2026-07-28',
    });
  });

  test('of a form is -32602 in either era', () => {
    expect(hardDenial(strict, form('x'))?.row).toMatchObject({ legacy: -32602, modern: -32602 });
  });

  test('of an ask is for those that a backend may not make', () => {
    expect(denyAsk({ asks: ['roots'] }, 'sampling')?.reason).toBe('ask_not_supported');
    expect(denyAsk({ asks: ['roots'] }, 'roots')).toBeUndefined();
  });
});
