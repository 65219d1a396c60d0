import { describe, expect, test } from 'vitest';
import { judgeAgainst, judgeAlone } from '../conformance/judge.ts';
import type { Check, CheckStatus, KitResult } from '../conformance/kit.ts';

function check(id: string, status: CheckStatus): Check {
  return { id, status };
}

function resultOf(scenarios: Record<string, Check[]>): KitResult {
  return new Map(Object.entries(scenarios));
}

const A_OK = check('a', 'SUCCESS');

describe('a run by itself', () => {
  const cases = [
    { name: 'that passes the expected scenarios is in order', checks: [A_OK], expected: 1, expect: [] },
    {
      name: 'deviates when fewer scenarios pass than expected',
      checks: [A_OK],
      expected: 2,
      expect: [/1 .* passed, 2/],
    },
    {
      name: 'names each check that failed',
      checks: [A_OK, check('b', 'FAILURE')],
      expected: 0,
      expect: [/^failed b/],
    },
    { name: 'is not faulted for warnings', checks: [check('a', 'WARNING')], expected: 1, expect: [] },
  ];
  test.each(cases)('$name', ({ checks, expected, expect: messages }) => {
    const deviations = judgeAlone(resultOf({ ping: checks }), expected);
    expect(deviations.map(({ message }) => message)).toEqual(messages.map((message) => expect.stringMatching(message)));
  });
});

describe('a run through the gateway, against the direct one', () => {
  const cases = [
    { name: 'the same checks are in order', direct: [A_OK], through: [A_OK], expect: [] },
    { name: 'a new warning deviates', direct: [A_OK], through: [check('a', 'WARNING')], expect: [/^WARNING a/] },
    { name: 'a new skipped check deviates', direct: [A_OK], through: [check('a', 'SKIPPED')], expect: [/^SKIPPED a/] },
    {
      name: 'a warning that is there directly is in order',
      direct: [check('a', 'WARNING')],
      through: [check('a', 'WARNING')],
      expect: [],
    },
    {
      name: 'a second warning of the same id deviates',
      direct: [check('a', 'WARNING')],
      through: [check('a', 'WARNING'), check('a', 'WARNING')],
      expect: [/^WARNING a/],
    },
    {
      name: 'a check that is only mentioned deviates',
      direct: [A_OK],
      through: [check('a', 'INFO')],
      expect: [/^lost a/],
    },
    { name: 'no checks at all deviate', direct: [A_OK], through: [], expect: [/^lost a/] },
    {
      name: 'a check that needs SSE answers may fall silent',
      direct: [check('server-sse-streams-functional', 'SUCCESS')],
      through: [check('server-sse-streams-functional', 'INFO')],
      expect: [],
    },
    {
      name: 'a scenario that a failed one did not reach is not listed',
      direct: [A_OK, check('b', 'SUCCESS')],
      through: [check('a', 'FAILURE')],
      expect: [],
    },
  ];
  test.each(cases)('$name', ({ direct, through, expect: messages }) => {
    const deviations = judgeAgainst(resultOf({ ping: direct }), resultOf({ ping: through }));
    expect(deviations.map(({ message }) => message)).toEqual(messages.map((message) => expect.stringMatching(message)));
  });

  test('a scenario that did not run deviates', () => {
    expect(judgeAgainst(resultOf({ ping: [A_OK] }), resultOf({}))).toEqual([
      { scenario: 'ping', message: 'ran directly only' },
    ]);
  });
});
