/** What a person is shown of a call. */
import { describe, expect, test } from 'vitest';
import { previewOf } from '../../src/approvals/preview.ts';
import { Redaction, usualSecrets } from '../../src/observe/audit-redact.ts';
import { verifies } from '../requirements/verifies.ts';
import { callOf } from './setup.ts';

describe('a preview', verifies('gateway:approval:preview'), () => {
  const cases = [
    { name: 'nothing', given: '{}', text: '{}', isComplete: true },
    { name: 'numbers as they are spelled', given: '{"n":1.0e2}', text: '{\n  "n": 1.0e2\n}', isComplete: true },
    {
      name: 'secrets by their names, at any depth',
      given: '{"a":[{"api_key":"x"}],"card":{"no":"42"}}',
      text: '{\n  "a": [\n    {\n      "api_key": "***"\n    }\n  ],\n  "card": {\n    "no": "***"\n  }\n}',
      isComplete: true,
    },
    {
      name: 'characters that are not seen',
      given: '{"a":"x\\u202ey\\u200bz\\u00a0"}',
      text: '{\n  "a": "x\\u202ey\\u200bz\\u00a0"\n}',
      isComplete: true,
    },
    { name: 'the beginning of a long text', given: `{"a":"${'x'.repeat(9_000)}"}`, isComplete: false },
    {
      name: 'nothing of what is too deep',
      given: `{"a":${'['.repeat(80)}${']'.repeat(80)}}`,
      text: '',
      isComplete: false,
    },
    {
      name: 'every parameter that the approval is bound to',
      given: '{}',
      more: ',"force":true,"_meta":{"a":1},"requestState":"s"',
      text: '{}\nFurther parameters: {\n  "force": true\n}',
      isComplete: true,
    },
  ];
  test.each(cases)('shows $name', ({ given, more, text, isComplete }) => {
    const preview = previewOf(
      callOf({ arguments: given, ...(more && { more }) }),
      Redaction.of([...usualSecrets, 'card.no']),
    );
    expect(preview).toMatchObject({ isComplete, ...(text !== undefined && { text }) });
    expect(preview.hash).toMatch(/^[0-9a-f]{64}$/);
  });
});
