import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { differences, restartSettings, withoutRestart } from '../../../src/app/reload/differences.ts';
import { configOf } from '../generations.ts';

const a = { url: 'http://127.0.0.1:9/a' };
const backends = { a };
const listen = { host: '127.0.0.1', port: 9000 };
const before = configOf({ backends, listen });

describe('settings that need a restart', () => {
  const next = configOf({
    backends,
    listen: { ...listen, port: 9001, allowedHosts: ['here.example'] },
    limits: { askMs: 1_000 },
    log: { level: 'debug' },
    seal: { key: 'k'.repeat(32) },
    store: { dir: '/elsewhere' },
  });

  test('are named one by one, and nothing else is', () => {
    expect(differences(before, next)).toEqual({
      told: ['allowed origins or hosts changed'],
      needRestart: ['listen.port', 'limits.askMs', 'log.level', 'seal.key', 'store.dir'],
    });
  });

  test('keep their old values, and everything else has its new one', () => {
    const { listen: is, endpoints, ...rest } = withoutRestart(before, next);
    expect(is).toEqual({ ...next.listen, port: 9000 });
    expect(endpoints[0]).toBe(before.endpoints[0]);
    const { limits, log, seal, store } = before;
    expect(rest).toMatchObject({ limits, log, store });
    expect(rest.seal).toBe(seal);
    expect(differences(before, withoutRestart(before, next)).needRestart).toEqual([]);
  });

  test('are in the documentation, with the reasons', () => {
    const lines = readFileSync('docs/configuration.md', 'utf8').split('\n');
    const [head, end] = [lines.indexOf('| needs a restart | why |'), (from: number) => lines.indexOf('', from)];
    const rows = restartSettings.map(({ section, keys, name, why }) => {
      const names = keys?.map((key) => `${section}.${key}`) ?? [name ?? section];
      return `| ${names.map((one) => `\`${one}\``).join(', ')} | ${why} |`;
    });
    expect(lines.slice(head + 2, end(head))).toEqual(rows);
  });
});

test('what a reload has changed is told in one sentence for each thing', () => {
  const other = { url: 'http://127.0.0.1:9/other' };
  const rpc = { protocol: 'json-rpc', url: 'http://127.0.0.1:9/' };
  const [was, is] = [
    configOf({ backends: { a, b: a, ledger: rpc }, listen }),
    configOf({ backends: { a: other, c: a, archive: rpc }, listen, watch: false }),
  ];
  expect(differences(was, is).told).toEqual([
    'backend `c` added',
    'backend `b` removed',
    'backend `a` changed',
    'service `archive` added',
    'service `ledger` removed',
    ...['`/servers/c/mcp` added', '`/servers/b/mcp` removed', '`/mcp` changed'].map((change) => `endpoint ${change}`),
    'watch changed',
  ]);
  expect(differences(was, was)).toEqual({ told: [], needRestart: [] });
});
