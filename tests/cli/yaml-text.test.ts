/** The first `bascule.yaml` has the values of the client's file as they are. */
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { yamlText } from '../../src/cli/init/yaml-text.ts';

it.each(['a\u2028b', '\u2029', 'one\n  two\n', 'a\r\nb', ' # no comment', '\u0085x'])('has the value %j', (value) => {
  const settings = { command: 'x', env: { NAME: value } };
  const text = yamlText([{ name: 'a', remarks: ['it has\na remark'], settings }], '.mcp.json');
  expect(parse(text).backends).toEqual({ a: settings });
});
