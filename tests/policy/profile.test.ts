import { describe, expect, test } from 'vitest';
import { buildFullProfile } from '../../src/config/policy-profile.ts';
import { denyAsk, denyBatch, type Form, hardDenial } from '../../src/policy/profile.ts';

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
}[] = [
  { name: 'a plain name', given: { form: 'tool', name: 'a.B-c_1' } },
  { name: 'a name with a space', given: { form: 'tool', name: 'a b' }, strict: 'invalid_params' },
  { name: 'an endless name', given: { form: 'tool', name: 'a'.repeat(129) }, strict: 'invalid_params' },
  { name: 'a form of primitives', given: object({ type: 'string', enum: ['x'] }) },
  { name: 'a form with a choice of several', given: object({ type: 'array', items: { type: 'string', enum: ['x'] } }) },
  { name: 'a form in a form', given: object({ type: 'object', properties: {} }), strict: 'invalid_params' },
  { name: 'a form with a list', given: object({ type: 'array', items: { type: 'object' } }), strict: 'invalid_params' },
  { name: 'a form with a reference', given: object({ $ref: '#/x' }), strict: 'invalid_params' },
  { name: 'no form at all', given: form('x'), strict: 'invalid_params' },
  { name: 'a URL elicitation', given: { form: 'elicitation', params: { mode: 'url', url: 'https://x' } } },
];

describe('a hard denial', () => {
  for (const { name, given, strict: whenStrict } of cases) {
    test(`${name}: ${whenStrict ?? 'none'} where strict, none where not`, () => {
      expect(hardDenial(strict, given)?.reason).toBe(whenStrict);
      expect(hardDenial(lenient, given)?.reason).toBeUndefined();
    });
  }

  test.each([
    { name: 'the revision that has them', profile: strict, revision: '2025-03-26', expected: undefined },
    { name: 'another', profile: strict, revision: '2025-11-25', expected: 'unsupported_mcp_batch' },
    { name: 'an unknown mode', profile: strict, revision: undefined, expected: 'unsupported_mcp_batch' },
    {
      name: 'the one, if none are allowed',
      profile: lenient,
      revision: '2025-03-26',
      expected: 'unsupported_mcp_batch',
    },
  ] as const)('of a batch of $name: $expected', ({ profile, revision, expected }) => {
    expect(denyBatch(profile, revision)?.reason).toBe(expected);
  });

  test('of a form is -32602 in either era', () => {
    expect(hardDenial(strict, form('x'))?.row).toMatchObject({ legacy: -32602, modern: -32602 });
  });

  test('of a server request covers those that a backend may not send', () => {
    expect(denyAsk({ asks: ['roots'] }, 'sampling')?.reason).toBe('ask_not_supported');
    expect(denyAsk({ asks: ['roots'] }, 'roots')).toBeUndefined();
  });
});
