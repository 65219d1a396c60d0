import { describe, expect, test } from 'vitest';
import { requiredVisits } from '../../src/bridge/url-elicitation.ts';
import type { ErrorResponse } from '../../src/wire/message.ts';
import { skimMessage } from '../../src/wire/skim.ts';

const visitsOf = (elicitation: string) => {
  const data = `{"elicitations":[${elicitation}]}`;
  const text = `{"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"Visit","data":${data}}}`;
  return requiredVisits(skimMessage(Buffer.from(text)) as ErrorResponse);
};
const plain = '"mode":"url","url":"https://a.example/","message":"Please","elicitationId":"e"';

describe('pages that an error requires the user to visit', () => {
  test('become URL elicitations', () => {
    expect(visitsOf(`{${plain}}`)).toHaveLength(1);
  });

  test.each([
    ['mode twice', `{${plain},"mode":"form"}`],
    ['mode in another case', `{${plain},"Mode":"form"}`],
    ['a form in another case', `{${plain},"requestedschema":{}}`],
  ])('do not where readers would differ: %s', (_, elicitation) => {
    expect(visitsOf(elicitation)).toBeUndefined();
  });
});
