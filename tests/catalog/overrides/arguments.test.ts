import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withFinalArguments } from '../../../src/catalog/overrides/arguments.ts';
import type { ArgumentOverride } from '../../../src/catalog/overrides/settings.ts';
import { Failure } from '../../../src/errors/failure.ts';
import { folded } from '../../../src/wire/fold.ts';
import type { Request } from '../../../src/wire/message.ts';
import { readMessage } from '../../../src/wire/scan.ts';
import { verifies } from '../../requirements/verifies.ts';
import { awkwardJson, awkwardText, holds, spell, spelling } from '../../wire/property.ts';

const argument = fc.oneof(awkwardText, fc.constantFrom('constructor', 'toString', 'region', 'Region', 'ß', 'SS'));
const override = fc.record({ argument, value: awkwardJson, isFixed: fc.boolean() });
const overrides = fc.uniqueArray(override, {
  minLength: 1,
  maxLength: 4,
  selector: (one: ArgumentOverride) => folded(one.argument),
});

function request(params: string): Request {
  const text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`;
  const message = readMessage(Buffer.from(text), { depth: 64 });
  if (message.kind !== 'request') throw new Error('no request');
  return message;
}

const textOf = ({ bytes }: Request) => Buffer.from(bytes).toString();

/** What the backend should read; undefined where the request is to be refused. */
function expected(given: Record<string, unknown>, set: readonly ArgumentOverride[]): object | undefined {
  const added: [string, unknown][] = [];
  for (const one of set) {
    const like = Object.keys(given).filter((key) => folded(key) === folded(one.argument));
    if (like.length > 0 && (one.isFixed || like.some((key) => key !== one.argument))) return undefined;
    if (like.length === 0) added.push([one.argument, one.value]);
  }
  return { ...given, ...Object.fromEntries(added) };
}

describe('final arguments', verifies('gateway:overrides:arguments'), () => {
  it('are the client’s and the config’s, and no byte of the rest changes', () => {
    const args = fc.dictionary(argument, awkwardJson, { maxKeys: 6 });
    holds(
      fc.property(args, awkwardJson, overrides, spelling, (given, meta, set, how) => {
        const shown = spell(given, how);
        const [head, tail] = [`{ "x":${spell(meta, how)} ,"arguments" : `, ',"name":"find","y":1.0 }'];
        const before = request(`${head}${shown}${tail}`);
        const wanted = expected(JSON.parse(shown), set);
        if (wanted === undefined) {
          expect(() => withFinalArguments(before, set)).toThrow(Failure);
          return;
        }
        const after = withFinalArguments(before, set);
        const { params } = after;
        const whole = Buffer.from(after.bytes.subarray(params?.start, params?.end)).toString();
        expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true);
        const made = whole.slice(head.length, whole.length - tail.length);
        expect(JSON.parse(made)).toEqual(JSON.parse(JSON.stringify(wanted)));
        // All bytes of the client up to its closing brace, and of the white space before it.
        const inner = shown.slice(0, -1).trimEnd();
        expect(made.startsWith(inner) && made.endsWith(shown.slice(inner.length))).toBe(true);
        // The spans are those of the new bytes.
        expect(after.params).toEqual(readAgain(after).params);
      }),
    );
  });

  it('are made where the client sends none', () => {
    const set = [{ argument: 'region', value: 'eu', isFixed: true }];
    const after = withFinalArguments(request('{"name":"find","_meta":{"a":1}}'), set);
    expect(textOf(after)).toContain('"params":{"name":"find","_meta":{"a":1},"arguments":{"region":"eu"}}');
  });

  it('stay the same message where nothing is left out', () => {
    const before = request('{"name":"find","arguments":{"limit":1}}');
    expect(withFinalArguments(before, [{ argument: 'limit', value: 2, isFixed: false }])).toBe(before);
  });

  it('of many names are read in one pass', () => {
    const given = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`argument ${n}`, n]));
    const before = request(`{"name":"find","arguments":${JSON.stringify(given)}}`);
    const set = Array.from({ length: 100 }, (_, n) => ({ argument: `fixed ${n}`, value: n, isFixed: true }));
    const after = withFinalArguments(before, set);
    expect(textOf(after)).toContain('"fixed 99":99}');
  });
});

function readAgain({ bytes }: Request): Request {
  const message = readMessage(Buffer.from(bytes), { depth: 128 });
  if (message.kind !== 'request') throw new Error('no request');
  return message;
}
